"""Rounds of fixes: none is made that does not help, and what is right alone is not given up for the mixture."""

from __future__ import annotations

import re
from collections.abc import Callable

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked, Mended


def mended(text: str, pattern: str, write: Callable[[str], str | None]) -> Mended:
    """The text when each match of the pattern is found, and its row is written anew; None takes the row away."""

    def check(text: str) -> Checked:
        return Checked("f.py", tuple(_findings(text)))

    def _findings(text: str) -> list[Finding]:
        found = []
        for row, line in enumerate(text.split("\n"), 1):
            for match in re.finditer(pattern, line):
                new = write(line)
                end = Position(row, len(line) + 1) if new is not None else Position(row + 1, 1)
                fix = Fix("mend", (Edit(Span(Position(row, 1), end), new or ""),), safe=True)
                at = Span(Position(row, match.start() + 1), Position(row, match.end() + 1))
                found.append(Finding("GRD101", "a", "m", "error", "raises", "f.py", at, (row, row), fix=fix))
        return found

    return mend(text, check(text), check, lambda finding, now: True)[1]


def test_a_fix_that_does_not_help_is_not_made() -> None:
    """Not even once."""
    result = mended("x.data\n", "data", lambda line: f"{line}.copy()")
    assert (result.after, result.broken, result.made) == ("x.data\n", ("GRD101",), {})


def test_two_that_empty_a_block_together() -> None:
    """The first is made; the other has to see what it left behind."""
    result = mended("if c:\n    x.data\n    y.data\nz\n", "[xy].data", lambda line: None)
    assert result.after == "if c:\n    y.data\nz\n"
    assert result.broken == ("GRD101",)


def test_what_moves_into_the_place_of_what_is_gone() -> None:
    """Is another finding, though it looks like the old one."""
    result = mended("x.data\nx.data\nz\n", "x.data", lambda line: None)
    assert (result.after, result.broken, result.settled) == ("z\n", (), True)
