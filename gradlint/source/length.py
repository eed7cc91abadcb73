"""How long a program may be: its syntax takes some 2.5 KB of memory for each word, and a minute for a million rows."""

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
