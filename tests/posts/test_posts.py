"""Programs like those that people post with a question, and like the answers they get; torch judges each.

A block may end in a comment `# shows: expression`: the expression is true after the run, and proves a silent defect.
Under "Known gap" gradlint is wrong today, and a comment `# wanted: GRD103, GRD204` (or `nothing`) names the codes of a
right answer.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness.judge import finding_complaints, raise_complaints
from tests.harness.lint import findings_of
from tests.harness.markdown import Block, blocks_under
from tests.harness.torch_run import run_under_torch

BLOCKS = blocks_under(Path(__file__).parent)
every_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.name)

_WANTED = re.compile(r"^# wanted: (?P<codes>.+)$", re.MULTILINE)


def wanted_of(block: Block) -> list[str] | None:
    """The codes of a right answer, or None where the block names none."""
    match = _WANTED.search(block.code)
    if match is None:
        return None
    return [] if match["codes"] == "nothing" else sorted(match["codes"].split(", "))


@every_block
def test_gradlint_finds_exactly_what_is_marked(block: Block) -> None:
    """Each mark has its finding, and nothing else is found."""
    assert finding_complaints(block.marks, findings_of(block.code)) == []


@every_block
def test_torch_does_what_the_block_says(block: Block) -> None:
    """Torch raises where it is marked and nowhere else, and what a block shows is so."""
    outcome = run_under_torch(block.code, block.shows)
    assert raise_complaints(block.marks.raises, outcome) == []
    if block.shows is not None:
        assert outcome.shown is True


@every_block
def test_a_block_stands_under_the_right_heading(block: Block) -> None:
    """A gap is one, a fault without a rule is named, and elsewhere each program that raises has a finding."""
    marks, wanted = block.marks, wanted_of(block)
    if block.is_known_gap:
        assert wanted is not None
        assert sorted(code for _, code in marks.findings.elements()) != wanted
    elif block.is_not_reported:
        assert marks.later
        assert not marks.findings
    else:
        assert wanted is None
        assert not marks.later
        assert marks.findings or marks.raises is None
