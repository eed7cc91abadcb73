"""The reading of comments; what flake8 reads, we read alike."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradlint
from gradlint.source.comments import comments_with
from gradlint.source.suppressions import Comment, comments

# flake8's own expression, which the words of this test are measured against.
FLAKE8 = re.compile(r"# noqa(?::[\s]?(?P<codes>([A-Z]+[0-9]+(?:[,\s]+)?)+))?", re.IGNORECASE)


def only(text: str) -> Comment:
    """The one comment of a text."""
    (comment,) = comments(text)
    return comment


def words(text: str) -> tuple[str, ...]:
    """The codes of the one comment of a text."""
    return tuple(word.text for word in only(text).words)


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("# noqa", ()),
        ("# noqa:GRD101", ("GRD101",)),
        ("# noqa: GRD101,GRD2", ("GRD101", "GRD2")),
        ("# noqa: grd101 GRD2", ("grd101", "GRD2")),
        ("# noqa: GRD101 because it is meant", ("GRD101",)),
        ("# noqa: it is meant", ()),
        ("# noqa : GRD101", ()),
        ("# pragma: no cover # noqa: E1", ("E1",)),
        ("# gradlint: noqa: GRD101, leaf-inplace as it is data", ("GRD101", "leaf-inplace")),
        ("# gradlint: noqa[GRD101]", ("GRD101",)),
        ("#gradlint:ignore", ()),
        ("# gradlint: ignore -- it is meant", ()),
        ("# gradlint: ignore[GRD101] it is meant", ("GRD101",)),
        ("# type: ignore  # gradlint: ignore[ leaf-inplace , GRD2]  # why", ("leaf-inplace", "GRD2")),
    ],
)
def test_codes_of_a_comment(comment: str, expected: tuple[str, ...]) -> None:
    """A list of codes, or nothing for all."""
    assert words(f"x  {comment}") == expected
    assert only(f"x  {comment}").fault is None
    assert only(f"x  {comment}").scope == "statement"


@pytest.mark.parametrize(
    "line",
    [
        *("# no qa", "noqa", "# noqable", "# NO-QA", "# gradlint is right", "# see gradlint: ignore[GRD101]"),
        *("# gradlint: the code is right", "# gradlint: enabled in CI", "'# noqa'", "f(r'\\\\', '# noqa')"),
        *("'''\n# gradlint: noqa\n'''", '"""\\""" # noqa\n"""'),
    ],
)
def test_what_is_no_such_comment(line: str) -> None:
    """Close is not enough, nor is a string; prose is free."""
    assert comments(f"x = {line}") == ()


@pytest.mark.parametrize(
    ("comment", "fault"),
    [
        ("# gradlint: ignore[GRD101", "its bracket is not closed"),
        ("# gradlint: ignore[GRD101  # why]", "its bracket is not closed"),
        ("# gradlint: ignore GRD101", "no list of codes in brackets follows"),
        ("# gradlint: ignore this for now", "no list of codes in brackets follows"),
        ("# gradlint: disable=GRD101", "no list of codes in brackets follows"),
        ("# gradlint: noqa GRD101", "no list of codes in brackets follows"),
        ("# gradlint: ignore[]", "its list of codes is empty"),
        ("# gradlint: ingore[GRD101]", "gradlint knows no `ingore`"),
        ("# gradlint: disable-nextline", "gradlint knows no `disable-nextline`"),
        ("# gradlint: silence[GRD101]", "gradlint knows no `silence`"),
    ],
)
def test_a_wrong_comment_has_a_fault(comment: str, fault: str) -> None:
    """It has no codes, and with the fault does not count as one for all."""
    assert (only(comment).fault, only(comment).words) == (fault, ())


@pytest.mark.parametrize(
    ("text", "scope", "target"),
    [
        ("# gradlint: noqa", "file", 1),
        ("x  # gradlint: noqa", "statement", 1),
        ("x  # gradlint: file-ignore[GRD1]", "file", 1),
        ("\n    # gradlint: disable", "from", 2),
        ("x  # gradlint: disable", "statement", 1),
        ("# gradlint: enable", "until", 1),
        ("# gradlint: ignore-next-line\n\n# why\nx\ny", "next", 4),
        ("x  # gradlint: disable-next-line\r\n\r\ny", "next", 3),
    ],
)
def test_what_a_comment_is_about(text: str, scope: str, target: int) -> None:
    """A `disable` at the end of a line is about that, one on a line of its own begins a block."""
    assert (only(text).scope, only(text).target) == (scope, target)


@given(st.text(alphabet="# noqa:NOQAGRD123,x\t"))
def test_flake8_reads_the_same_codes(tail: str) -> None:
    """Where flake8 sees a comment with codes, so do we, and the same ones."""
    theirs = FLAKE8.search(f"x {tail}")
    if theirs is None or re.match(r"\w", tail[theirs.end() - 2 :]):
        return
    assert words(f"x {tail}") == tuple(code for code in re.split(r"[,\s]+", theirs["codes"] or "") if code)


@pytest.mark.parametrize("folder", ["source", "settings", "report"])
def test_comments_are_those_of_python(folder: str) -> None:
    """The expression that steps over strings finds what `tokenize` finds."""
    for path in [*(Path(gradlint.__file__).parent / folder).glob("*.py"), Path(__file__)]:
        text = path.read_text(encoding="utf-8")
        theirs = [
            (token.string, *token.start)
            for token in tokenize.generate_tokens(io.StringIO(text).readline)
            if token.type == tokenize.COMMENT
        ]
        assert [(one.text, one.row, one.start) for one in comments_with(re.compile("#"), text)] == theirs
