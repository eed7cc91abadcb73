"""Edits of a text: made together where they leave each other alone, and put off where they do not."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.fixes.edits import apply

LETTERS = "abcdefghij"


def finding(*edits: tuple[int, int, str]) -> Finding:
    """A finding whose fix edits one row: (first column, column behind the last, content)."""
    fix = Fix("mend", tuple(Edit(Span(Position(1, a), Position(1, b)), content) for a, b, content in edits), safe=True)
    at = fix.edits[0].span
    return Finding("GRD101", "a", "m", "error", "raises", "f", at, (1, 1), fix=fix)


def test_edits_that_overlap_wait() -> None:
    """The first in the text goes first."""
    text, applied = apply(LETTERS, [finding((2, 5, "X")), finding((1, 3, "Y"))])
    assert (text, len(applied)) == ("Ycdefghij", 1)


def test_the_same_insertion_is_made_once() -> None:
    """Two fixes may need the same import."""
    text, applied = apply(LETTERS, [finding((1, 1, "+"), (3, 4, "C")), finding((1, 1, "+"), (5, 6, "E"))])
    assert (text, len(applied)) == ("+abCdEfghij", 2)


def test_an_insertion_at_the_edge_waits() -> None:
    """Whether it belongs before or behind what is replaced, nobody knows."""
    assert len(apply(LETTERS, [finding((2, 4, "X")), finding((4, 4, "Y"))])[1]) == 1


spans = st.tuples(st.integers(1, 11), st.integers(0, 3)).map(lambda pair: (pair[0], min(11, pair[0] + pair[1])))


@given(st.lists(st.tuples(spans, st.sampled_from(["", "X", "YY"])), max_size=6))
def test_what_no_fix_touches_stays(wishes: list[tuple[tuple[int, int], str]]) -> None:
    """Whatever is applied: the letters outside of all applied edits are there, in order; new text is what was asked."""
    findings = [finding((start, end, content)) for (start, end), content in wishes]
    text, applied = apply(LETTERS, findings)
    made = [edit for one in applied if one.fix for edit in one.fix.edits]
    gone = {column for edit in made for column in range(edit.span.start.column, edit.span.end.column)}
    kept = [letter for column, letter in enumerate(LETTERS, 1) if column not in gone]
    assert [letter for letter in text if letter in LETTERS] == kept
    unique = {(edit.span, edit.content) for edit in made}
    assert len(text) == len(kept) + sum(len(content) for _, content in unique)
    assert bool(applied) == bool(findings)
