"""Fenced Python in Markdown: ```` ```python ````, also with attributes, as `{code-block} python` or `{.python}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gradlint.source.documents.blocks import LANGUAGES, ORDER, Block, document_of, rewritten
from gradlint.source.documents.document import Document, Kind
from gradlint.source.read import Unusable, split_lines, unreadable

_DIRECTIVES = frozenset({"code-block", "code-cell", "code", "sourcecode"})
_OPTION = re.compile(r"\s*:[\w-]+:")


def read(text: str) -> Document | Unusable:
    """Return the programs of a Markdown text."""
    try:
        return document_of(text, _blocks(text))
    except RecursionError:
        return unreadable("the Markdown is nested too deeply")


def rewrite(text: str, changes: Mapping[int, str]) -> str:
    """Return the text with other code in some blocks."""
    return rewritten(text, _blocks(text), changes)


def _blocks(text: str) -> Iterator[Block]:
    """Yield the fenced blocks of Python that are closed; one whose rows are not set off alike is left out."""
    from markdown_it import MarkdownIt

    rows, order = split_lines(text), ""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "html_block" and (said := ORDER.search(token.content)):
            order = said[1]
        elif token.type == "fence" and token.map is not None:
            block = _block(rows, token.map[0] + 1, token.content, order) if _is_python(token.info) else None
            order = ""
            if block is not None:
                yield block


def _block(rows: list[str], first: int, content: str, order: str) -> Block | None:
    code = content.removesuffix("\n").split("\n") if content else []
    while code and _OPTION.match(code[0]):
        code, first = code[1:], first + 1
    end = first + len(code)
    standing = rows[first:end]
    filled = [(row, line) for row, line in zip(standing, code, strict=True) if line.strip()]
    prefixes = {row[: len(row) - len(line)] for row, line in filled if row.endswith(line)}
    if len(prefixes) != 1 or not all(row.endswith(line) for row, line in filled):
        return None
    return Block(first, end, prefixes.pop(), order)


def _is_python(info: str) -> bool:
    """Return whether a fence is said to hold Python."""
    words = re.findall(r"[\w-]+", info.lower())
    if words and words[0] in _DIRECTIVES:
        words = words[1:]
    return bool(words) and words[0] in LANGUAGES


MARKDOWN = Kind(read, rewrite)
