"""What an editor asks about a place, and what it can do there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from lsprotocol import types

from gradlint import check_source
from gradlint.fixes.edits import apply
from gradlint.server.documents import Cell, Document
from gradlint.server.texts import Text
from tests.server.conftest import FAULT, SECONDS, Editor, codes_of

TENSORS = """import torch
import torch.nn.functional as functional

w = torch.ones(3, requires_grad=True)
y = w.exp()
loss = functional.relu(y).sum()
loss.backward()  # noqa: GRD204
"""
SAFE = """import torch
from torch.autograd import Variable

x = Variable(torch.ones(2))
y = Variable(torch.zeros(2))
"""


async def hovered(editor: Editor, uri: str, row: int, column: int) -> str:
    """Return what is shown where somebody points; rows and columns count from 1."""
    params = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(row - 1, column - 1))
    told = await asyncio.wait_for(editor.client.text_document_hover_async(params), SECONDS)
    if told is None:
        return ""
    assert isinstance(told.contents, types.MarkupContent)
    return told.contents.value


async def actions(
    editor: Editor, uri: str, rows: tuple[int, int], only: list[str] | None = None
) -> Sequence[types.CodeAction]:
    """Return what can be done in some rows, which count from 0."""
    stretch = types.Range(types.Position(rows[0], 0), types.Position(rows[1], 0))
    context = types.CodeActionContext(editor.client.diagnostics.get(uri, ()), only=only)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), stretch, context)
    found = await asyncio.wait_for(editor.client.text_document_code_action_async(params), SECONDS)
    return [one for one in found or () if isinstance(one, types.CodeAction)]


def done(text: str, action: types.CodeAction, uri: str) -> str:
    """Return a text after an action, as an editor makes it: edits count in the text as it was."""
    assert action.edit is not None
    assert action.edit.changes is not None
    document = Document(uri, (Cell(uri, Text(text)),))
    edits = sorted(action.edit.changes[uri], key=lambda one: (one.range.start.line, one.range.start.character))
    for edit in reversed(edits):
        change = types.TextDocumentContentChangePartial(edit.range, edit.new_text)
        document = document.changed(uri, [change], None)
    return document.content


@pytest.mark.asyncio
async def test_hover_over_values_operations_and_codes(editor: Editor) -> None:
    """Of a tensor what autograd looks at, of an operation its page, of a code its rule, of all else nothing."""
    uri = editor.open("a.py", TENSORS)
    tensor = await hovered(editor, uri, 5, 1)
    for fact in ("shape: [3]", "dtype: float32", "requires_grad: yes", "leaf: no", "grad_fn: `ExpBackward0`"):
        assert f"- {fact}\n" in f"{tensor}\n"
    assert "saved at v0 by `Tensor.exp`" in tensor
    assert "leaf: yes" in await hovered(editor, uri, 5, 5)
    operation = await hovered(editor, uri, 6, 19)
    assert "torch.nn.functional.relu" in operation
    assert "ReluBackward0" in operation
    assert (await hovered(editor, uri, 7, 27)).startswith("# GRD204 ")
    assert await hovered(editor, uri, 3, 1) == ""


@pytest.mark.asyncio
async def test_quick_fixes(editor: Editor) -> None:
    """They are gradlint's own; unsafe ones say so, and a comment silences."""
    uri = editor.open("a.py", FAULT)
    await editor.published(uri)
    fixes = await actions(editor, uri, (3, 3))
    (finding,) = check_source(FAULT)
    assert finding.fix is not None
    unsafe, silencing = fixes
    assert (unsafe.title, unsafe.is_preferred, unsafe.kind) == (
        *(f"GRD101: {finding.fix.message} (unsafe: may change values)", False, types.CodeActionKind.QuickFix),
    )
    assert codes_of(unsafe.diagnostics or ()) == ["GRD101"]
    assert done(FAULT, unsafe, uri) == apply(FAULT, [finding])[0]
    silent = done(FAULT, silencing, uri)
    assert silent == FAULT.replace("w += 1", "w += 1  # gradlint: ignore[GRD101]")
    assert check_source(silent) == ()
    assert await actions(editor, uri, (0, 1)) == []


@pytest.mark.asyncio
async def test_all_safe_fixes(editor: Editor) -> None:
    """As `gradlint check --fix` makes them; unsafe ones are left."""
    text = f"{SAFE}w = torch.ones(3, requires_grad=True)\nw += 1\n"
    uri = editor.open("a.py", text)
    await editor.published(uri)
    (action,) = await actions(editor, uri, (0, 0), only=["source.fixAll"])
    assert action.kind == "source.fixAll.gradlint"
    after = done(text, action, uri)
    assert "Variable(" not in after
    assert [finding.code for finding in check_source(after)] == ["GRD101"]
    editor.change(uri, "import torch\n")
    assert await actions(editor, uri, (0, 0), only=["source.fixAll.gradlint"]) == []


@pytest.mark.asyncio
async def test_inlay_hints_are_off_unless_they_are_wanted(editor: Editor) -> None:
    """Then they say the shape, and whether a gradient is wanted."""
    uri = editor.open("a.py", TENSORS)
    stretch = types.Range(types.Position(0, 0), types.Position(5, 0))
    params = types.InlayHintParams(types.TextDocumentIdentifier(uri), stretch)
    assert await editor.client.text_document_inlay_hint_async(params) == ()
    settings = {"gradlint": {"inlayHints": True}}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    found = await asyncio.wait_for(editor.client.text_document_inlay_hint_async(params), SECONDS)
    hints = [(one.position.line, one.position.character, one.label) for one in found or ()]
    assert hints == [(3, 37, "[3] grad"), (4, 11, "[3] grad"), (5, 31, "[] grad")]


async def ordered(editor: Editor, command: str, arguments: list[object], *, patience: int = 1) -> str:
    """Run a command, and return what it shows."""
    asked = types.ExecuteCommandParams(command, arguments)
    told = await asyncio.wait_for(editor.client.workspace_execute_command_async(asked), SECONDS * patience)
    return str(told)


@pytest.mark.asyncio
async def test_a_lens_opens_the_graph(editor: Editor) -> None:
    """At each backward; the editor can show no documents, and is told where the picture is."""
    uri = editor.open("a.py", TENSORS)
    found = await editor.client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
    (lens,) = found or ()
    assert lens.range.start.line == 6
    assert lens.command is not None
    page = await ordered(editor, lens.command.command, list(lens.command.arguments or ()))
    assert "<svg" in page
    assert "ExpBackward0" in page
    assert editor.client.messages[-1].message.endswith("graph-7.html")


@pytest.mark.asyncio
async def test_a_row_is_explained(editor: Editor) -> None:
    """As by `gradlint explain`."""
    uri = editor.open("a.py", TENSORS, on_disk="")
    assert "y =: Tensor[3] float32 grad v0" in await ordered(editor, "gradlint.explain", [uri, 5])


@pytest.mark.asyncio
async def test_torch_confirms_on_request(editor: Editor) -> None:
    """In the sandbox; what is confirmed is the text of the editor."""
    uri = editor.open("a.py", FAULT, on_disk="")
    text = await ordered(editor, "gradlint.confirm", [uri, 4, "GRD101"], patience=4)
    assert "confirmed: " in text
    assert "a leaf Variable that requires grad is being used in an in-place operation" in text
