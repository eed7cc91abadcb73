"""How long a program may be, and how deep its patterns: what libcst cannot parse in bounded time and memory.

A word takes some 2.5 KB, and each bracket in the pattern of a `case` up to four times as long as the one around it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from itertools import islice

LONGEST = 250_000
"""Words, signs, and rows. The longest file of torch 2.13 that is no list of numbers has 230,000."""

_PARTS = re.compile(r"\w+|[^\w\s]|\n")


def is_too_long(text: str) -> bool:
    """Return whether a program has more parts than are read; of strings and comments only fields count."""
    if len(text) <= LONGEST or not _has_more(_PARTS.finditer(text)):
        return False
    return _has_more(_tokens(text))


def _has_more(parts: Iterator[object]) -> bool:
    return next(islice(parts, LONGEST, None), None) is not None


def _tokens(text: str) -> Iterator[object]:
    """Yield the tokens, and what may be code in a string; where the text is no Python, up to there."""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            yield token
            if token.type == tokenize.STRING and "{" in token.string:
                yield from _PARTS.finditer(token.string)
    except (SyntaxError, tokenize.TokenError):
        return


_CASE = re.compile(r"(?:^|(?<=\r))[ \t\f]*case\b", re.MULTILINE)
_PIECES = re.compile(
    r"""\"{3}(?:\\.|[^\\])*?\"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\r\n])*"|'(?:\\.|[^'\\\r\n])*'"""
    r"""|\#[^\r\n]*|\\(?:\r\n|\r|\n)|\bif\b|[()\[\]{}=\r\n]""",
    re.DOTALL,
)
_MOST_TRIES = 4**10
"""How often the parts of patterns may be tried: with libcst 1.9, two seconds."""


def has_deep_patterns(text: str) -> bool:
    """Return whether the patterns of all `case` nest so that libcst, which tries each part anew, does not come back."""
    tries = 0
    for case in _CASE.finditer(text) if "match" in text else ():
        depth = 0
        for piece in _PIECES.finditer(text, case.end()):
            if piece[0] in "([{":
                depth += 1
                tries += 4**depth
                if tries > _MOST_TRIES:
                    return True
            elif piece[0] in ")]}":
                depth -= 1
            elif depth <= 0 and piece[0] in ("if", "=", "\r", "\n"):
                break
    return False
