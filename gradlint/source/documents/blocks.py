"""Blocks of Python in a text: each a program of its own, unless a comment joins it to the one before.

A block that does not parse is no program: documentation leaves code out with dots, or shows a session at the prompt.
Such blocks are counted and not reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from gradlint.domain.frozen import Frozen
from gradlint.source.documents.document import Document
from gradlint.source.documents.joined import Piece, Program
from gradlint.source.documents.magics import python_of
from gradlint.source.documents.stand_ins import StandIns
from gradlint.source.parse import refusal_of_parser
from gradlint.source.read import rows_and_ends, split_lines

ORDER = re.compile(r"gradlint:\s*(continue|skip)\b")
"""What a comment says of the next block: it belongs to the program of the one before, or is not checked."""

LANGUAGES = frozenset({"python", "python3", "py", "py3", "ipython", "ipython3"})


class Block(Frozen):
    """Rows of the document, from `first` (counted from 0) up to `end`, each after the same `prefix`."""

    first: int
    end: int
    prefix: str
    order: str = ""


def document_of(text: str, blocks: Iterable[Block]) -> Document:
    """Return the programs of a text."""
    stand_ins = StandIns.for_document(text)
    rows, ends = rows_and_ends(text)
    read: list[tuple[int, Piece]] = []  # With the number of the program.
    sources: dict[int, str] = {}
    unread: list[int] = []
    total = program = 0
    for number, block in enumerate(blocks):
        if block.order == "skip":
            continue
        total, program = total + 1, program + (block.order != "continue")
        source = _source(block, rows, ends)
        python = python_of(source, stand_ins)
        if python is None or refusal_of_parser(python) is not None:
            unread.append(program)
            continue
        sources[number] = source
        read.append((program, Piece(python, number, row=block.first + 1, shift=len(block.prefix))))
    groups = (tuple(piece for _, piece in group) for _, group in groupby(read, key=lambda one: one[0]))
    remark = f"{len(unread)} of {total} Python blocks are no programs, and are not checked"
    return Document(
        tuple(Program.of(group, stand_ins) for group in groups),
        sources,
        remarks=(remark,) if unread else (),
        whole={number for number, _ in read}.isdisjoint(unread),
    )


def rewritten(text: str, blocks: Iterable[Block], changes: Mapping[int, str]) -> str:
    """Return the text with other code in some blocks, by their numbers."""
    rows, ends = rows_and_ends(text)
    for number, block in reversed(list(enumerate(blocks))):
        if number in changes:
            end, last = ends[block.first] or ends[block.first - 1], ends[block.end - 1]
            new = [f"{block.prefix}{row}" if row else row for row in split_lines(changes[number])]
            old = rows[block.first : block.end]
            # A row without code may have less than the prefix.
            new = [next((had for had in old if had.rstrip() == row.rstrip() and not row.strip()), row) for row in new]
            rows[block.first : block.end] = new
            ends[block.first : block.end] = [*[end] * (len(new) - 1), last]
    return "".join(row + end for row, end in zip(rows, ends, strict=True))


def _source(block: Block, rows: list[str], ends: list[str]) -> str:
    """Return the code of a block, its rows without the prefix; the end of its last row is no part of it."""
    code = [row[len(block.prefix) :] for row in rows[block.first : block.end]]
    between = ends[block.first : max(block.end - 1, block.first)]
    return "".join(row + end for row, end in zip(code, [*between, ""], strict=True))
