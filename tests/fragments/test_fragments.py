"""Fragments of programs, as people paste them into a question: names are read that nothing in them binds.

Gradlint is given the fragment alone. Torch is given it behind a beginning that binds the names (`beginning.py`), and
must raise, or show, what the fragment is marked with. The first line of a fragment is a comment, in whose place the
beginning is run; what stands behind `# run:` is run by torch only, such as the call of a function that the fragment
does not call.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness.judge import finding_complaints, raise_complaints
from tests.harness.lint import findings_of
from tests.harness.markdown import Block, blocks_under
from tests.harness.torch_run import run_under_torch

HERE = Path(__file__).parent
BLOCKS = blocks_under(HERE)
every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)

_BEGINNING = (HERE / "beginning.py").read_text(encoding="utf-8")
_RUN = re.compile(r"^# run: ", re.MULTILINE)


@every_block
def test_gradlint_finds_exactly_what_is_marked(block: Block) -> None:
    """Each mark has its finding, and nothing else is found."""
    assert finding_complaints(block.marks, findings_of(block.code)) == []


@every_block
def test_torch_does_what_the_fragment_says(block: Block) -> None:
    """Torch raises where it is marked and nowhere else, and what a fragment shows is so."""
    comment, rest = block.code.split("\n", 1)
    assert comment.startswith("#")
    rest = _RUN.sub("", rest)
    outcome = run_under_torch(f"exec({_BEGINNING!r})\n{rest}", block.shows)
    assert raise_complaints(block.marks.raises, outcome) == []
    if block.shows is not None:
        assert outcome.shown is True
