"""The programs of five study notes on autograd: what gradlint says of them, and what torch does today.

`docs/seeds.md` is the table of all statements; it must agree with the fixtures.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from gradlint.facts import load
from gradlint.facts.spelling import look_up
from gradlint.facts.topics import topic_of
from tests.harness.judge import finding_complaints, raise_complaints
from tests.harness.lint import findings_of
from tests.harness.marks import marks_of
from tests.harness.torch_run import run_under_torch

ROOT = Path(__file__).resolve().parents[1]
FIXTURES = tuple(sorted((ROOT / "fixtures" / "seeds").glob("*.py")))
STATEMENTS = tuple(f"S{number:02}" for number in range(1, 52))
SILENT = frozenset({"S16", "S17", "S24", "S38"})
HEADER = re.compile(r"# (?P<statement>S\d\d), notes? \d{3}[^:]*: .+\n(# .+\n)*# torch 2\.13: .+")
ROW = re.compile(r"\| (?P<statement>S\d\d) \|[^|]*\|(?P<answer>[^|]*)\|(?P<fixtures>[^|]*)\|")

every_fixture = pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
every_statement = pytest.mark.parametrize("statement", STATEMENTS)


@every_fixture
def test_gradlint_finds_exactly_what_is_marked(path: Path) -> None:
    """Each mark has its finding, and nothing else is found."""
    code = path.read_text(encoding="utf-8")
    assert finding_complaints(marks_of(code), findings_of(code)) == []


@every_fixture
def test_torch_does_what_the_fixture_says(path: Path) -> None:
    """It raises where it is marked; what it does silently the fixture asserts itself."""
    code = path.read_text(encoding="utf-8")
    assert raise_complaints(marks_of(code).raises, run_under_torch(code)) == []


@every_fixture
def test_a_fixture_says_which_statement_it_is(path: Path) -> None:
    """The header names the statement and the note, and tells what torch does today."""
    assert HEADER.match(path.read_text(encoding="utf-8"))


@every_statement
def test_the_table_names_the_fixtures_of_a_statement(statement: str) -> None:
    """Each statement has its row, and the row has all of its fixtures."""
    named = re.findall(r"`(\w+)`", _rows()[statement]["fixtures"])
    assert named == [path.stem for path in FIXTURES if _statement(path) == statement]
    assert named, "each of the notes' statements has a program"


@every_statement
def test_the_table_lists_what_is_open(statement: str) -> None:
    """The faults that are marked as reported later are those that the row calls open, and no others."""
    marks = [marks_of(path.read_text(encoding="utf-8")) for path in FIXTURES if _statement(path) == statement]
    codes = {code for each in marks for _, code in each.findings}
    later = {name for each in marks for _, name in each.later}
    answer = _rows()[statement]["answer"]
    assert set(re.findall(r"\[(GRD\d{3})\]", answer)) == codes
    assert set(re.findall(r"open: `([a-z0-9-]+)`", answer)) == later


def test_the_operations_that_the_table_names_have_pages() -> None:
    """`gradlint op NAME` answers statements about the gradient of one operation."""
    named = [name for row in _rows().values() for name in re.findall(r"gradlint op ([\w.]+)", row["answer"])]
    assert named
    assert [name for name in named if topic_of(name) is None and look_up(load(), name) is None] == []


@pytest.mark.parametrize("statement", sorted(SILENT))
def test_what_is_right_stays_silent(statement: str) -> None:
    """These programs teach what is legal: there will never be a finding in them."""
    for path in FIXTURES:
        if _statement(path) == statement:
            marks = marks_of(path.read_text(encoding="utf-8"))
            assert not marks.findings
            assert not marks.later
            assert marks.raises is None


def _statement(path: Path) -> str:
    match = HEADER.match(path.read_text(encoding="utf-8"))
    assert match is not None, path
    return match["statement"]


@cache
def _rows() -> dict[str, dict[str, str]]:
    table = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
    return {match["statement"]: match.groupdict() for match in ROW.finditer(table)}
