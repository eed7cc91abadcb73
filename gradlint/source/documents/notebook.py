"""Jupyter notebooks: the code cells as one program, in their order on the page.

`json` reads them, and not nbformat: importing that takes a JSON schema validator and traitlets (0.2 s), it says without
a place what is wrong with a broken file, and it can only write a notebook anew, while a fix changes the sources of its
cells and no other byte. What is needed of the format are the cells, their types and their sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from gradlint.domain.frozen import Frozen
from gradlint.source.documents.document import Document, Kind
from gradlint.source.documents.joined import Piece, Program
from gradlint.source.documents.json_text import Path, Stretch, load, replaced, stretches
from gradlint.source.documents.magics import python_of
from gradlint.source.documents.stand_ins import StandIns
from gradlint.source.parse import refusal_of_parser
from gradlint.source.read import Unusable, invalid, unreadable


class _Cell(Frozen):
    """A cell of code: its number among all cells, where its source stands, and when it was executed last."""

    number: int
    path: Path
    source: str
    executed: int | None


class _MalformedError(Exception):
    """The JSON is no notebook, for the reason given."""


def read(text: str) -> Document | Unusable:
    """Return the program of a notebook, or why it is none."""
    data = load(text)
    if isinstance(data, Unusable):
        return data
    try:
        cells = list(_code_cells(data))
    except _MalformedError as error:
        return unreadable(f"this is no notebook: {error}")
    language = _language(data)
    if language not in ("", "python", "ipython"):
        return Document(remarks=(f"not checked: its kernel is for {language}",))
    return _document(text, cells)


def _document(text: str, cells: list[_Cell]) -> Document:
    stand_ins = StandIns.for_document(text)
    pieces: list[Piece] = []
    refused: list[tuple[Piece, Unusable]] = []
    for cell in cells:
        python = python_of(cell.source, stand_ins)
        if python is None:
            continue
        piece = Piece(python, cell.number, cell.number)
        if refusal_of_parser(f"{stand_ins.header(cell.number, python)}\n{python}") is not None:
            refused.append((piece, refusal_of_parser(python) or invalid("invalid syntax")))
        else:
            pieces.append(piece)
    counts = [cell.executed for cell in cells if cell.executed is not None]
    disorder = any(later <= sooner for sooner, later in pairwise(counts))
    return Document(
        (Program.of(pieces, stand_ins),) if pieces else (),
        {cell.number: cell.source for cell in cells},
        tuple(refused),
        caveat="cells were executed out of order; they are checked in the order of the page" if disorder else None,
        whole=not refused,
    )


def rewrite(text: str, changes: Mapping[int, str]) -> str:
    """Return the notebook with other sources in some cells; all else stays as it is, byte for byte."""
    data = load(text)
    paths = {cell.path: changes[cell.number] for cell in _code_cells(data) if cell.number in changes}
    found = stretches(text, lambda path: path in paths or path[:-1] in paths)
    items: dict[Path, list[Stretch]] = {path: [] for path in paths}
    for path, stretch in found.items():
        if path not in paths:
            items[path[:-1]].append(stretch)
    parts, at = [], 0
    for path in sorted(paths, key=lambda path: found[path].start):
        parts += [text[at : found[path].start], replaced(text, found[path], items[path], paths[path])]
        at = found[path].end
    return "".join([*parts, text[at:]])


def _code_cells(data: object) -> Iterator[_Cell]:
    """Yield the cells of code with the number that each has among all cells, from 1."""
    number = 0
    for where, cells, name in _lists_of_cells(data):
        for index, cell in enumerate(cells):
            number += 1
            if not isinstance(cell, dict):
                raise _MalformedError(f"cell {number} is not an object")
            if cell.get("cell_type") != "code" or _language_of_cell(cell) not in ("", "python"):
                continue
            source = _joined(cell.get(name), number)
            count = cell.get("execution_count", cell.get("prompt_number"))
            yield _Cell(number, (*where, index, name), source, count if isinstance(count, int) else None)


def _lists_of_cells(data: object) -> Iterator[tuple[Path, list[object], str]]:
    """Yield where a list of cells stands, the list, and under what key each has its source: version 4, and 3."""
    if isinstance(data, dict) and isinstance(data.get("cells"), list):
        yield ("cells",), data["cells"], "source"
        return
    sheets = data.get("worksheets") if isinstance(data, dict) else None
    if not isinstance(sheets, list):
        raise _MalformedError("it has no list of `cells`")
    for index, sheet in enumerate(sheets):
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        if not isinstance(cells, list):
            raise _MalformedError(f"worksheet {index + 1} has no list of `cells`")
        yield ("worksheets", index, "cells"), cells, "input"


def _joined(source: object, number: int) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    raise _MalformedError(f"the source of cell {number} is neither a string nor a list of strings")


def _language(data: object) -> str:
    """Return the language of the kernel in small letters; nothing if it is not said."""
    about = _member(data, "metadata")
    said = _member(_member(about, "language_info"), "name") or _member(_member(about, "kernelspec"), "language")
    return said.lower() if isinstance(said, str) else ""


def _language_of_cell(cell: Mapping[str, object]) -> object:
    """Return in what language Visual Studio Code, or version 3 of the format, says that a cell is."""
    said = _member(_member(cell.get("metadata"), "vscode"), "languageId") or cell.get("language")
    return said if isinstance(said, str) else ""


def _member(data: object, key: str) -> object:
    return data.get(key) if isinstance(data, dict) else None


NOTEBOOK = Kind(read, rewrite, largest=50_000_000)
"""The outputs of its cells, pictures among them, make a notebook larger than its code."""
