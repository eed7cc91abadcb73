"""Walking over syntax, fast: libcst's own visitors stop at every blank and comma."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache

import libcst as cst

_TRIVIA = re.compile(
    r"whitespace|[lr]par|[lr]bracket|[lr]brace|comma|semicolon|colon|dot|equal|leading_|lines_after|trailing_"
    r"|header|footer|indent|first_line|last_line|asynchronous"
)
_NO_NODES = (str, bool, type(None), cst.MaybeSentinel)


def parts(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the nodes directly below one, in the order of their fields, without blanks, comments, and punctuation."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        kind = type(value)
        if kind is tuple or kind is list:
            yield from value
        elif kind not in _NO_NODES:
            yield value


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind) if not _TRIVIA.match(field.name))
