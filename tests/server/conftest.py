"""An editor of the tests: it opens, changes and asks, and waits for what the server says."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

SERVER = ClientServerConfig(server_command=[sys.executable, "-m", "gradlint", "server"])
SECONDS = 60.0
"""So long a test waits at most: for a server that never answers."""

FAULT = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
"""GRD101 in row 4."""


class Editor:
    """A client with the files of a folder open."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client, self.folder = client, folder
        self._versions: dict[str, int] = {}

    def open(self, name: str, text: str, *, on_disk: str | None = None) -> str:
        """Open a file, which holds something else on disk where that is given, and return its address."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((text if on_disk is None else on_disk).encode("utf-8", "surrogatepass"))
        uri = path.as_uri()
        self._versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text))
        )
        return uri

    def change(self, uri: str, text: str, stretch: types.Range | None = None) -> None:
        """Change a stretch of a text, or all of it."""
        self._versions[uri] += 1
        change = (
            types.TextDocumentContentChangeWholeDocument(text)
            if stretch is None
            else types.TextDocumentContentChangePartial(stretch, text)
        )
        named = types.VersionedTextDocumentIdentifier(self._versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(named, [change]))

    def save(self, uri: str) -> None:
        """Say that a file was saved."""
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        """Close a file."""
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def published(self, uri: str) -> Sequence[types.Diagnostic]:
        """Wait for the next diagnostics of a file."""

        async def wait() -> Sequence[types.Diagnostic]:
            while True:
                told: Any = await self.client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
                if told.uri == uri:
                    found: Sequence[types.Diagnostic] = told.diagnostics
                    return found

        return await asyncio.wait_for(wait(), SECONDS)

    async def published_until(self, uri: str, codes: list[str]) -> Sequence[types.Diagnostic]:
        """Wait until these are the codes that are shown in a file."""
        while codes_of(self.client.diagnostics.get(uri, ())) != codes or uri not in self.client.diagnostics:
            await self.published(uri)
        return self.client.diagnostics[uri]

    async def pulled(self, uri: str, previous: str | None = None) -> types.DocumentDiagnosticReport:
        """Ask for the diagnostics of a file."""
        asked = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        return await asyncio.wait_for(self.client.text_document_diagnostic_async(asked), SECONDS)

    async def shown(self, uri: str) -> Sequence[types.Diagnostic]:
        """Ask for the diagnostics of a file, and take those that come."""
        report = await self.pulled(uri)
        assert isinstance(report, types.RelatedFullDocumentDiagnosticReport)
        return report.items


def codes_of(found: Sequence[types.Diagnostic]) -> list[str]:
    """Return the codes, in order."""
    return [str(one.code) for one in found]


def capabilities(*, asks: bool) -> types.ClientCapabilities:
    """Return what an editor can; one that `asks` for diagnostics is not sent any."""
    return types.ClientCapabilities(
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities() if asks else None
        ),
        notebook_document=types.NotebookDocumentClientCapabilities(types.NotebookDocumentSyncClientCapabilities()),
        workspace=types.WorkspaceClientCapabilities(
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True), configuration=True
        ),
    )


async def begin(client: LanguageClient, folder: Path, *, asks: bool) -> None:
    """Let an editor begin to speak with its server about a folder."""
    await client.initialize_session(
        types.InitializeParams(
            capabilities(asks=asks),
            root_uri=folder.as_uri(),
            workspace_folders=[types.WorkspaceFolder(folder.as_uri(), "folder")],
        )
    )


@pytest_lsp.fixture(config=SERVER)  # type: ignore[untyped-decorator]
async def told(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """A client to which diagnostics are sent."""
    await begin(lsp_client, tmp_path, asks=False)
    yield
    await lsp_client.shutdown_session()


@pytest_lsp.fixture(config=SERVER)  # type: ignore[untyped-decorator]
async def asker(lsp_client: LanguageClient, tmp_path: Path) -> AsyncIterator[None]:
    """A client that asks for diagnostics."""
    await begin(lsp_client, tmp_path, asks=True)
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def editor(told: LanguageClient, tmp_path: Path) -> Editor:
    """An editor to which diagnostics are sent."""
    return Editor(told, tmp_path)


@pytest.fixture
def asking(asker: LanguageClient, tmp_path: Path) -> Editor:
    """An editor that asks for diagnostics."""
    return Editor(asker, tmp_path)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that is a project."""
    (tmp_path / "pyproject.toml").write_text("", encoding="utf-8")
    return tmp_path
