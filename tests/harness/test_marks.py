"""Marks are read where they stand, and what looks like one and is none is refused."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.harness.marks import MarkError, marks_of, reveal_lines


def test_one_comment_holds_several_marks() -> None:
    """A line can carry a finding and the text that torch raises there."""
    marks = marks_of("x += 1  # GRD101, GRD301  # raises: a leaf\nreveal(x)  # revealed: Tensor[2]\n")
    assert Counter({(1, "GRD101"): 1, (1, "GRD301"): 1}) == marks.findings
    assert marks.raises == (1, "a leaf")
    assert marks.revealed == {2: "Tensor[2]"}


def test_the_same_code_can_be_expected_twice_on_a_line() -> None:
    """Findings are counted, so that a doubled finding does not pass as one."""
    assert Counter({(1, "GRD101"): 2}) == marks_of("f(x, y)  # GRD101, GRD101\n").findings


def test_a_comment_on_its_own_line_marks_nothing() -> None:
    """Headers may speak about marks."""
    assert not marks_of("# raises: nothing here\nx = 1\n").raises


def test_marks_inside_strings_are_text() -> None:
    """Only comments count."""
    assert not marks_of("x = 'y  # GRD101'\n").findings


@pytest.mark.parametrize(
    "code",
    ["x  # GRD1\n", "x  # GRD101 GRD102\n", "x  # later: Two Words\n", "x  # raises\ny  # raises: z\n"],
)
def test_a_malformed_mark_is_refused(code: str) -> None:
    """A slip in a mark must not turn a check off."""
    with pytest.raises(MarkError):
        marks_of(code)


def test_reveal_lines_are_those_of_calls() -> None:
    """A method of the same name is another thing."""
    assert frozenset({1, 3}) == reveal_lines("reveal(x)\nx.reveal()\nif x:    reveal(y)\n")
