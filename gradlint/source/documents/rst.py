"""Python in reStructuredText: the directives `code-block`, `code` and `sourcecode`.

docutils would read all of the language, import for longer than a file takes to be checked, and give no columns. What is
needed of it is one directive, whose body is what is indented below it. Sessions at the prompt (`>>>`) are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gradlint.source.documents.blocks import LANGUAGES, ORDER, Block, document_of, rewritten
from gradlint.source.documents.document import Document, Kind
from gradlint.source.read import Unusable, split_lines

_DIRECTIVE = re.compile(r"(?P<indent>[ \t]*)\.\.[ ]+(?:code-block|code|sourcecode)::[ ]*(?P<language>[\w-]*)[ ]*")
_OPTION = re.compile(r"[ \t]+:[\w-]+:")
_COMMENT = re.compile(rf"[ \t]*\.\.[ ]+{ORDER.pattern}")


def read(text: str) -> Document | Unusable:
    """Return the programs of a text."""
    return document_of(text, _blocks(text))


def rewrite(text: str, changes: Mapping[int, str]) -> str:
    """Return the text with other code in some blocks."""
    return rewritten(text, _blocks(text), changes)


def _blocks(text: str) -> Iterator[Block]:
    rows, order, number = split_lines(text), "", 0
    while number < len(rows):
        directive = _DIRECTIVE.fullmatch(rows[number])
        if (said := _COMMENT.match(rows[number])) is not None:
            order = said[1]
        number += 1
        if directive is None:
            continue
        block = _body(rows, number, len(directive["indent"]), order)
        order = ""
        if block is not None:
            number = block.end
            if directive["language"].lower() in LANGUAGES:
                yield block


def _body(rows: list[str], first: int, indent: int, order: str) -> Block | None:
    """Return what is indented below a directive, after its options; None if nothing is."""
    while first < len(rows) and _OPTION.match(rows[first]):
        first += 1
    while first < len(rows) and not rows[first].strip():
        first += 1
    end = first
    while end < len(rows) and (not rows[end].strip() or _indent(rows[end]) > indent):
        end += 1
    while end > first and not rows[end - 1].strip():
        end -= 1
    if end == first:
        return None
    prefix = min((row[: _indent(row)] for row in rows[first:end] if row.strip()), key=len)
    if not all(row.startswith(prefix) for row in rows[first:end] if row.strip()):
        return None
    return Block(first, end, prefix, order)


def _indent(row: str) -> int:
    return len(row) - len(row.lstrip(" \t"))


RST = Kind(read, rewrite)
