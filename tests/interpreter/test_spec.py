"""The pages of this folder specify the interpreter, those of `tests/rules` hold the long tail of each rule.

Gradlint and torch judge each program on them, but for the examples of the rules, which `tests/rules` judges.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.judge import (
    containment_complaints,
    finding_complaints,
    raise_complaints,
    reveal_complaints,
)
from tests.harness.lint import findings_of, reveals_of
from tests.harness.markdown import Block, blocks_under
from tests.harness.marks import reveal_lines
from tests.harness.torch_run import run_under_torch

HERE = Path(__file__).parent
BLOCKS = (*blocks_under(HERE), *(block for block in blocks_under(HERE.parent / "rules") if not block.is_example))
every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)


@every_block
def test_gradlint_finds_exactly_what_is_marked(block: Block) -> None:
    """Each mark has its finding, and nothing else is found."""
    assert finding_complaints(block.marks, findings_of(block.code)) == []


@every_block
def test_gradlint_reveals_exactly_what_is_written(block: Block) -> None:
    """`python -m tests.harness.rewrite` writes the texts of today; the difference is for review."""
    texts = {line: answer.text for line, answer in reveals_of(block.code).items()}
    assert reveal_complaints(block.marks, reveal_lines(block.code), texts) == []


@every_block
def test_torch_raises_where_it_is_marked_and_nowhere_else(block: Block) -> None:
    """What a page says of torch is executed."""
    outcome = run_under_torch(block.code, block.shows)
    assert raise_complaints(block.raises, outcome) == []
    assert outcome.shown is (None if block.shows is None else True)


@every_block
def test_torch_lies_inside_what_gradlint_reveals(block: Block) -> None:
    """Each tensor that torch shows is one that gradlint allows.

    Under a heading "Known gap" the two must disagree, in this or in whether there is a fault at all: a gap
    that is closed moves to another section.
    """
    abstract = {line: answer.facts for line, answer in reveals_of(block.code).items()}
    complaints = containment_complaints(abstract, run_under_torch(block.code).reveals)
    if block.is_known_gap:
        assert complaints or bool(block.marks.findings) != (block.raises is not None)
    else:
        assert complaints == []


@every_block
def test_a_fault_without_a_rule_stands_under_its_heading(block: Block) -> None:
    """Torch raises with a finding in an ordinary section, and without one where nothing is reported yet."""
    if block.is_not_reported:
        assert not block.marks.findings
    elif block.raises is not None and not block.is_known_gap:
        assert block.marks.findings
