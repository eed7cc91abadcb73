"""The programs after torch's own tests raise as marked; `python -m tests.confirm.recall torch` confirms them."""

from __future__ import annotations

import pytest

from tests.confirm.recall import TESTS
from tests.harness.judge import raise_complaints
from tests.harness.markdown import Block, blocks_under
from tests.harness.torch_run import run_under_torch

BLOCKS = blocks_under(TESTS / "confirm" / "torch_tests")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)
def test_torch_raises_where_it_is_marked(block: Block) -> None:
    """And nowhere else."""
    assert raise_complaints(block.raises, run_under_torch(block.code)) == []
