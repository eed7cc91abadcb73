"""What the editor has open: Python files, and notebooks, whose cells are one program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from lsprotocol import types
from pygls.uris import to_fs_path

from gradlint.domain.finding import Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.server.texts import Text


class Cell(Frozen):
    """A piece of a document: of a notebook a cell, of a file all of it."""

    uri: str
    text: Text
    is_code: bool = True
    version: int | None = None


class Place(Frozen):
    """Where in a document somebody points: at a place of a cell, which has no number in a file."""

    cell: Cell
    number: int | None
    at: Position


class Document(Frozen):
    """One version of what is open."""

    uri: str
    cells: tuple[Cell, ...]
    is_notebook: bool = False

    @property
    def name(self) -> str:
        """The name of the file; of one that is not saved yet, the name that the editor gives it."""
        name = to_fs_path(self.uri) or unquote(urlparse(self.uri).path)
        return f"{name}.ipynb" if self.is_notebook and not name.endswith(".ipynb") else name

    @property
    def path(self) -> Path:
        """The path of the file."""
        return Path(self.name).absolute()

    @property
    def content(self) -> str:
        """The text that is checked: of a notebook the JSON of its cells."""
        if not self.is_notebook:
            return self.cells[0].text.text
        kinds = {True: "code", False: "markdown"}
        cells = [{"cell_type": kinds[cell.is_code], "source": cell.text.text} for cell in self.cells]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    @property
    def numbered(self) -> Iterator[tuple[int | None, Cell]]:
        """All cells with the number that a span of gradlint's has there."""
        for number, cell in enumerate(self.cells, start=1):
            yield (number if self.is_notebook else None), cell

    def cell(self, span: Span) -> Cell:
        """Return the piece in which a stretch stands."""
        return self.cells[(span.cell or 1) - 1]

    def place(self, uri: str, position: types.Position) -> Place | None:
        """Return where somebody points to who names a piece."""
        found = next(((number, cell) for number, cell in self.numbered if cell.uri == uri), None)
        return None if found is None else Place(found[1], found[0], found[1].text.at(position))

    def with_cells(self, cells: Sequence[Cell]) -> Document:
        """Return the next version of a notebook."""
        return Document(self.uri, tuple(cells), self.is_notebook)

    def changed(
        self, uri: str, changes: Sequence[types.TextDocumentContentChangeEvent], version: int | None
    ) -> Document:
        """Return the document after changes in one of its pieces."""
        cells = list(self.cells)
        for index, cell in enumerate(cells):
            if cell.uri == uri:
                text = cell.text
                for change in changes:
                    text = text.changed(change)
                cells[index] = Cell(uri, text, cell.is_code, version)
        return self.with_cells(cells)


def file_document(opened: types.TextDocumentItem, encoding: str) -> Document:
    """Return a file that was opened."""
    return Document(opened.uri, (Cell(opened.uri, Text(opened.text, encoding), version=opened.version),))


def notebook_document(opened: types.DidOpenNotebookDocumentParams, encoding: str) -> Document:
    """Return a notebook that was opened."""
    texts = {item.uri: item for item in opened.cell_text_documents}
    cells = tuple(new_cell(cell, texts.get(cell.document), encoding) for cell in opened.notebook_document.cells)
    return Document(opened.notebook_document.uri, cells, is_notebook=True)


def new_cell(cell: types.NotebookCell, item: types.TextDocumentItem | None, encoding: str) -> Cell:
    """Return a cell of a notebook; only code in Python is code to us."""
    text = Text("" if item is None else item.text, encoding)
    is_python = item is not None and item.language_id in ("python", "ipython")
    is_code = cell.kind == types.NotebookCellKind.Code and is_python
    return Cell(cell.document, text, is_code, None if item is None else item.version)


def changed_notebook(document: Document, change: types.NotebookDocumentChangeEvent, encoding: str) -> Document:
    """Return a notebook after its cells, or texts in them, have changed."""
    cells, told = list(document.cells), change.cells
    if told is None:
        return document
    if told.structure is not None:
        array, texts = told.structure.array, {item.uri: item for item in told.structure.did_open or ()}
        known = {cell.uri: cell for cell in cells}
        made = [
            known[one.document]
            if one.document in known and one.document not in texts
            else new_cell(one, texts.get(one.document), encoding)
            for one in array.cells or ()
        ]
        cells[array.start : array.start + array.delete_count] = made
    document = document.with_cells(cells)
    for text in told.text_content or ():
        document = document.changed(text.document.uri, text.changes, text.document.version)
    return document
