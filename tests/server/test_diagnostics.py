"""What is shown while somebody types is what `gradlint check` finds in the text of the editor."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from gradlint import check_source
from tests.server.conftest import FAULT, Editor, codes_of

FIXED = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw = w + 1\n"
LEAF_INPLACE = types.Range(types.Position(3, 0), types.Position(3, 6))


@pytest.mark.asyncio
async def test_a_finding_is_a_diagnostic(editor: Editor) -> None:
    """With place, severity, code, the page about it, and the places that explain it."""
    uri = editor.open("a.py", FAULT)
    (found,) = await editor.published(uri)
    (finding,) = check_source(FAULT)
    assert (found.range, found.severity, found.code, found.source) == (
        *(LEAF_INPLACE, types.DiagnosticSeverity.Error, "GRD101", "gradlint"),
    )
    assert found.message == f"{finding.message}\nhelp: {finding.hint}"
    assert found.code_description is not None
    assert found.code_description.href.endswith("docs/rules/GRD101-leaf-inplace.md")
    (place,) = found.related_information or ()
    assert (place.location.uri, place.location.range.start) == (uri, types.Position(2, 4))


@pytest.mark.asyncio
async def test_the_text_of_the_editor_is_checked(editor: Editor) -> None:
    """And not the file on disk, neither before nor after changes."""
    uri = editor.open("a.py", FAULT, on_disk=FIXED)
    assert codes_of(await editor.published(uri)) == ["GRD101"]
    editor.change(uri, "w = w + 1", LEAF_INPLACE)
    assert await editor.published(uri) == ()
    editor.change(uri, FAULT)
    assert codes_of(await editor.published(uri)) == ["GRD101"]


@pytest.mark.asyncio
async def test_an_editor_that_asks_is_answered(asking: Editor) -> None:
    """With the newest text; a second time only that nothing has changed."""
    uri = asking.open("a.py", FIXED)
    asking.change(uri, FAULT)
    report = await asking.pulled(uri)
    assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
    assert codes_of(report.items) == ["GRD101"]
    again = await asking.pulled(uri, report.result_id)
    assert isinstance(again, types.RelatedUnchangedDocumentDiagnosticReport)
    assert asking.client.diagnostics == {}, "nothing is sent to it"


@pytest.mark.asyncio
async def test_only_the_newest_version_counts(editor: Editor) -> None:
    """Of many changes at once, the older ones are not answered."""
    uri = editor.open("a.py", FAULT)
    for number in range(20):
        editor.change(uri, f"{FAULT}# {number}\n")
    editor.change(uri, FIXED)
    assert await editor.published(uri) == ()
    await asyncio.sleep(0.5)
    assert editor.client.diagnostics[uri] == ()


@pytest.mark.asyncio
async def test_tags(editor: Editor) -> None:
    """What torch calls otherwise by now is struck through; a comment that silences nothing is faint."""
    uri = editor.open(
        "a.py",
        "import torch\nfrom torch.autograd import Variable\nx = Variable(torch.ones(2))\ny = 1  # noqa: GRD101\n",
    )
    found = {str(one.code): one.tags for one in await editor.published(uri)}
    assert found == {"GRD802": (types.DiagnosticTag.Deprecated,), "GRD003": (types.DiagnosticTag.Unnecessary,)}


@pytest.mark.asyncio
async def test_configuration_suppressions_and_severities(editor: Editor, project: Path) -> None:
    """They are those of `gradlint check`, also after the file of the configuration has changed."""
    told = project / "pyproject.toml"
    told.write_text('[tool.gradlint.severity]\nGRD101 = "info"\n', encoding="utf-8")
    uri = editor.open("a.py", FAULT + "w += 2  # gradlint: ignore[GRD101]\n")
    (found,) = await editor.published(uri)
    assert found.severity == types.DiagnosticSeverity.Information
    told.write_text('[tool.gradlint]\nignore = ["GRD101", "GRD003"]\n', encoding="utf-8")
    change = types.FileEvent(told.as_uri(), types.FileChangeType.Changed)
    editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    assert await editor.published(uri) == ()


@pytest.mark.asyncio
async def test_excluded_files_are_not_checked(editor: Editor, project: Path) -> None:
    """As where `gradlint check` comes through their directory."""
    (project / "pyproject.toml").write_text('[tool.gradlint]\nextend-exclude = ["old"]\n', encoding="utf-8")
    uri = editor.open("old/a.py", FAULT)
    assert await editor.published(uri) == ()


@pytest.mark.asyncio
async def test_a_wrong_configuration_is_told_once(editor: Editor, project: Path) -> None:
    """In a message to the user, and in the log."""
    (project / "pyproject.toml").write_text("[tool.gradlint]\nselekt = []\n", encoding="utf-8")
    uri = editor.open("a.py", FAULT)
    while not editor.client.messages:
        await asyncio.sleep(0.05)
    editor.change(uri, FIXED)
    await asyncio.sleep(0.5)
    (told,) = editor.client.messages
    assert "unknown key `selekt`" in told.message


@pytest.mark.asyncio
async def test_settings_of_the_editor(editor: Editor) -> None:
    """They are sent, or asked for, and stand on top of the files."""
    uri = editor.open("a.py", FAULT)
    assert codes_of(await editor.published(uri)) == ["GRD101"]
    settings = {"gradlint": {"options": {"ignore": ["leaf-inplace"]}}}
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    assert await editor.published(uri) == ()
    editor.client.set_configuration({"options": {}}, section="gradlint")
    editor.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
    assert codes_of(await editor.published(uri)) == ["GRD101"]


@pytest.mark.asyncio
async def test_other_files_are_read_as_the_editor_has_them(editor: Editor, project: Path) -> None:
    """What is imported: a change there is checked where it matters."""
    layers = editor.open(
        "layers.py", "def prepare(w):\n    return w\n", on_disk="def prepare(w):\n    return w.item()\n"
    )
    uri = editor.open(
        "train.py",
        "import torch\nfrom layers import prepare\n\nw = torch.ones(3, requires_grad=True)\nprepare(w)\n",
    )
    assert await editor.published(uri) == ()
    editor.change(layers, "def prepare(w):\n    w += 1\n    return w\n")
    await editor.published_until(layers, ["GRD101"])
    editor.change(layers, "def prepare(w):\n    return w\n")
    await editor.published_until(layers, [])


@pytest.mark.asyncio
async def test_an_importer_shows_a_fault(asking: Editor, project: Path) -> None:
    """It is found in the background; then the editor is told to ask again, and typing elsewhere does not lose it."""
    (project / "train.py").write_text(
        "import torch\nfrom layers import step\n\nw = torch.ones(3, requires_grad=True)\nstep(w)\n", encoding="utf-8"
    )
    text = "import torch\n\ndef step(w):\n    w += 1\n"
    uri = asking.open("layers.py", text)
    assert await asking.shown(uri) == ()
    while not asking.client.diagnostic_refresh_count:
        await asyncio.sleep(0.05)
    assert codes_of(await asking.shown(uri)) == ["GRD101"]
    asking.change(uri, f"# A row more.\n{text}")
    (found,) = await asking.shown(uri)
    assert (found.code, found.range.start) == ("GRD101", types.Position(4, 4))


@pytest.mark.asyncio
async def test_columns_are_those_of_the_editor(editor: Editor) -> None:
    """Code units of UTF-16, and rows that do not end at form feeds."""
    text = 'import torch\n\f\nw = torch.ones(3, requires_grad=True)\ns = "\U0001f600\u2028"; w += 1\n'
    uri = editor.open("a.py", text)
    (found,) = await editor.published(uri)
    assert found.range == types.Range(types.Position(3, 11), types.Position(3, 17))
    editor.change(uri, "w = w + 1", found.range)
    assert await editor.published(uri) == ()


@pytest.mark.asyncio
async def test_closing_clears(editor: Editor) -> None:
    """What was shown."""
    uri = editor.open("a.py", FAULT)
    assert await editor.published(uri)
    editor.close(uri)
    assert await editor.published(uri) == ()


@pytest.mark.asyncio
async def test_what_has_no_file_yet(editor: Editor) -> None:
    """Is checked under the name that the editor gives it."""
    uri = "untitled:Untitled-1"
    item = types.TextDocumentItem(uri, "python", 1, FAULT)
    editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
    assert codes_of(await editor.published(uri)) == ["GRD101"]


@pytest.mark.asyncio
async def test_what_is_no_program(editor: Editor) -> None:
    """A text that does not parse, one that is nested beyond measure, one that is too large: each is a finding."""
    uri = editor.open("a.py", "import torch\ndef f(:\n")
    assert codes_of(await editor.published(uri)) == ["GRD001"]
    editor.change(uri, f"import torch\nx = {'(' * 3000}{')' * 3000}\n")
    assert codes_of(await editor.published(uri)) == ["GRD001"]
    editor.change(uri, f"import torch\n{'#' * 10_000_000}\n")
    assert codes_of(await editor.published(uri)) == ["GRD002"]
    editor.change(uri, FAULT)
    assert codes_of(await editor.published(uri)) == ["GRD101"]
