"""The reading of comments; what flake8 reads, we read alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlint.domain.finding import Finding, Position, Span
from gradlint.source.suppressions import Suppressions

# flake8's own expression, which the words of this test are measured against.
FLAKE8 = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)

codes = st.from_regex(r"[A-Z]{1,4}[0-9]{1,4}", fullmatch=True)
separators = st.sampled_from([",", ", ", " ", ",,", " , "])


def finding(code: str, first: int = 1, last: int = 1) -> Finding:
    """A finding in a statement of these rows."""
    span = Span(Position(first, 1), Position(last, 2))
    return Finding(code, "name", "message", "error", "raises", "a.py", span, (first, last))


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", ()),
        ("# noqa:GRD101", ("GRD101",)),
        ("# noqa: GRD101,GRD2", ("GRD101", "GRD2")),
        ("# noqa: grd101 GRD2", ("GRD101", "GRD2")),
        ("# noqa: GRD101 because it is meant", ("GRD101",)),
        ("# noqa: it is meant", ()),
        ("# noqa : GRD101", ()),
        ("# pragma: no cover # noqa: E1", ("E1",)),
    ],
)
def test_codes_of_a_comment(comment: str, expected: tuple[str, ...]) -> None:
    """A list of codes, or nothing for all."""
    assert Suppressions.read(f"x  {comment}").rows == {1: expected}


@pytest.mark.parametrize("comment", ["# no qa", "noqa", "# noqable", "# NO-QA"])
def test_what_is_no_such_comment(comment: str) -> None:
    """Close is not enough."""
    assert Suppressions.read(f"x  {comment}").rows == {}


@given(st.lists(codes, min_size=1), separators, codes)
def test_a_comment_silences_exactly_its_prefixes(listed: list[str], separator: str, code: str) -> None:
    """Whatever separates them; and nothing else."""
    text = f"x  # noqa: {separator.join(listed)}"
    assert Suppressions.read(text).cover(finding(code)) == any(code.startswith(prefix) for prefix in listed)


@given(st.text(alphabet="# noqa:NOQAGRD123,x\t"))
def test_flake8_reads_the_same_codes(tail: str) -> None:
    """Where flake8 sees a comment with codes, so do we, and the same ones."""
    theirs = FLAKE8.search(f"x {tail}")
    if theirs is None or re.match(r"\w", tail[theirs.end() - 2 :]):
        return
    ours = Suppressions.read(f"x {tail}").rows[1]
    assert ours == tuple(code.upper() for code in re.split(r"[,\s]+", theirs["codes"] or "") if code)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 5))
def test_a_comment_counts_in_the_rows_of_the_statement(row: int, first: int, length: int) -> None:
    """In all of them, and in no other."""
    text = "\n" * (row - 1) + "x  # noqa"
    assert Suppressions.read(text).cover(finding("GRD101", first, first + length)) == (first <= row <= first + length)
