"""Frames of source."""

from __future__ import annotations

from gradlint.domain.finding import Position, Span
from gradlint.report.frame import Mark, draw
from gradlint.report.paint import Paint


def mark(row: int, column: int, end_row: int, end_column: int, text: str = "") -> Mark:
    """The mark of a finding, or with a text that of a related place."""
    severity = None if text else "error"
    return Mark(Span(Position(row, column), Position(end_row, end_column)), text, severity)  # type: ignore[arg-type]


def drawn(lines: list[str], *marks: Mark) -> list[str]:
    """The frame without colour."""
    return draw(lines, marks, Paint())


def test_two_marks_in_one_row() -> None:
    """The finding comes first."""
    assert drawn(["a + b"], mark(1, 5, 1, 6), mark(1, 1, 1, 2, "the leaf")) == [
        "  |",
        "1 | a + b",
        "  |     ^",
        "  | - the leaf",
    ]


def test_a_gap_of_one_row_is_filled() -> None:
    """Dots would take as much room."""
    assert drawn(["a", "b", "c"], mark(3, 1, 3, 2), mark(1, 1, 1, 2, "x")) == [
        *("  |", "1 | a", "  | - x", "2 | b", "3 | c", "  | ^"),
    ]


def test_several_rows_are_marked_in_the_first() -> None:
    """To its last character that is no space."""
    assert drawn(["f(a,  ", "  b)"], mark(1, 1, 2, 5)) == ["  |", "1 | f(a,", "  | ^^^^"]


def test_marks_stand_below_what_they_mark() -> None:
    """Behind tabs, wide characters, and accents; control characters cannot steer the terminal."""
    assert drawn(["\tx"], mark(1, 2, 1, 3))[1:] == ["1 |     x", "  |     ^"]
    assert drawn(["梯度 = x"], mark(1, 6, 1, 7))[1:] == ["1 | 梯度 = x", "  |        ^"]
    assert drawn(["e\u0301 = x"], mark(1, 6, 1, 7))[1:] == ["1 | e\u0301 = x", "  |     ^"]
    assert drawn(["'\x1b[31m' x"], mark(1, 9, 1, 10))[1:] == ["1 | '\ufffd[31m' x", "  |         ^"]


def test_long_rows_are_cut_and_points_have_width() -> None:
    """A mark behind the end of the text still shows."""
    assert [len(line) for line in drawn(["x" * 500], mark(1, 1, 1, 500))] == [3, 164, 164]
    assert drawn([""], mark(1, 1, 1, 1)) == ["  |", "1 |", "  | ^"]
    assert drawn(["ab"], mark(9, 9, 9, 9)) == ["  |", "1 | ab", "  |   ^"]
