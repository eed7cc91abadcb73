"""Notebooks: their cells are one program, and each has diagnostics of its own."""

from __future__ import annotations

import asyncio

import pytest
from lsprotocol import types

from tests.server.conftest import Editor, codes_of
from tests.server.test_asking import actions, hovered

CELLS = ["import torch\nw = torch.ones(3, requires_grad=True)\n", "%time w.sum()\nw += 1\n"]


def opened(editor: Editor, cells: list[str]) -> tuple[str, list[str]]:
    """Open a notebook; return its address, and those of its cells."""
    uri = (editor.folder / "nb.ipynb").as_uri()
    names = [f"{uri}#{number}" for number in range(len(cells))]
    items = [types.TextDocumentItem(name, "python", 1, text) for name, text in zip(names, cells, strict=True)]
    code = [types.NotebookCell(types.NotebookCellKind.Code, name) for name in names]
    notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, code)
    editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, items))
    return uri, names


def changed(editor: Editor, uri: str, cells: types.NotebookDocumentCellChanges) -> None:
    """Change a notebook."""
    named = types.VersionedNotebookDocumentIdentifier(2, uri)
    change = types.NotebookDocumentChangeEvent(cells=cells)
    editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(named, change))


@pytest.mark.asyncio
async def test_a_cell_knows_of_those_before(asking: Editor) -> None:
    """What explains it is in the other cell."""
    _, (first, second) = opened(asking, CELLS)
    assert await asking.shown(first) == ()
    (found,) = await asking.shown(second)
    assert (found.code, found.range.start) == ("GRD101", types.Position(1, 0))
    (place,) = found.related_information or ()
    assert (place.location.uri, place.location.range.start) == (first, types.Position(1, 4))


@pytest.mark.asyncio
async def test_cells_change_come_and_go(asking: Editor) -> None:
    """A text in a cell, and the list of cells."""
    uri, (first, second) = opened(asking, CELLS)
    edit = types.TextDocumentContentChangePartial(types.Range(types.Position(1, 0), types.Position(1, 6)), "pass")
    named = types.VersionedTextDocumentIdentifier(2, second)
    changed(
        *(asking, uri),
        types.NotebookDocumentCellChanges(text_content=[types.NotebookDocumentCellContentChanges(named, [edit])]),
    )
    assert await asking.shown(second) == ()
    third = f"{uri}#third"
    array = types.NotebookCellArrayChange(1, 1, [types.NotebookCell(types.NotebookCellKind.Code, third)])
    item = types.TextDocumentItem(third, "python", 1, "w += 2\n")
    structure = types.NotebookDocumentCellChangeStructure(array, [item], [types.TextDocumentIdentifier(second)])
    changed(asking, uri, types.NotebookDocumentCellChanges(structure=structure))
    assert codes_of(await asking.shown(third)) == ["GRD101"]
    assert await asking.shown(first) == ()
    assert await asking.shown(second) == (), "it is no cell any more"


@pytest.mark.asyncio
async def test_hover_and_actions_in_cells(asking: Editor) -> None:
    """They are those of the program."""
    _, (_, second) = opened(asking, CELLS)
    assert "shape: [3]" in await hovered(asking, second, 2, 1)
    unsafe, silencing = await actions(asking, second, (1, 1))
    for action in (unsafe, silencing):
        assert action.edit is not None
        assert list(action.edit.changes or ()) == [second]


@pytest.mark.asyncio
async def test_a_closed_notebook_shows_nothing(asking: Editor) -> None:
    """More."""
    uri, names = opened(asking, CELLS)
    assert codes_of(await asking.shown(names[1])) == ["GRD101"]
    cells = [types.TextDocumentIdentifier(name) for name in names]
    closing = types.DidCloseNotebookDocumentParams(types.NotebookDocumentIdentifier(uri), cells)
    asking.client.notebook_document_did_close(closing)
    await asyncio.sleep(0)
    assert await asking.shown(names[1]) == ()
