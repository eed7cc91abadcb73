"""The comments of a Python text, without tokenizing it: one regular expression steps over strings."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gradlint.source.read import LINE_END

_ESCAPED = r"\\(?:\r\n|.)"
_LEXEME = re.compile(
    r"(?P<comment>#[^\r\n]*)"
    rf'|"""[^"\\]*(?:(?:{_ESCAPED}|"(?!""))[^"\\]*)*"""'
    rf"|'''[^'\\]*(?:(?:{_ESCAPED}|'(?!''))[^'\\]*)*'''"
    rf'|"[^"\\\r\n]*(?:{_ESCAPED}[^"\\\r\n]*)*"'
    rf"|'[^'\\\r\n]*(?:{_ESCAPED}[^'\\\r\n]*)*'",
    re.DOTALL,
)
"""A comment, or a string, in which a `#` begins none. A raw string ends where one with escapes would end."""


class Placed(NamedTuple):
    """A comment from its `#` on, its row, and the characters before it in the row; whether those are blank."""

    text: str
    row: int
    start: int
    alone: bool


def comments_with(candidate: re.Pattern[str], text: str) -> Iterator[Placed]:
    """Yield the comments in which the pattern is found; a text without a match costs one search.

    The pattern begins with a `#` and stays in one row. The time is linear in the length of the text.
    """
    if candidate.search(text) is None:
        return
    starts = [0, *(found.end() for found in LINE_END.finditer(text))]
    for found in _LEXEME.finditer(text):
        comment = found["comment"]
        if comment is not None and candidate.search(comment):
            row = bisect_right(starts, found.start())
            before = text[starts[row - 1] : found.start()]
            yield Placed(comment, row, len(before), not before.strip())


def strings(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the strings of a text begin and end, in characters from its start."""
    return (found.span() for found in _LEXEME.finditer(text) if found["comment"] is None)


def next_code_rows(rows: Sequence[str], after: Sequence[int]) -> Iterator[int]:
    """Yield, for each of some rows in order, the first one after it that holds more than a comment.

    Rows count from 1; where there is none, it is the one after the last. However many comments follow one another,
    each row is looked at once.
    """
    at = 0
    for row in after:
        at = max(at, row)
        while at < len(rows) and rows[at].lstrip()[:1] in ("", "#"):
            at += 1
        yield at + 1
