"""The server of one editor: what it is told of the other side, and what it shows and says there."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, PyglsError
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import to_fs_path

from gradlint.server.checks import Report
from gradlint.server.diagnostics import diagnostics_of
from gradlint.server.documents import Document, file_document
from gradlint.server.session import Session
from gradlint.server.settings import settings_of
from gradlint.server.texts import UTF16
from gradlint.settings.config import ConfigError
from gradlint.source.files import digest_of
from gradlint.source.read import decode, read_bytes
from gradlint.version import version

LOG = logging.getLogger("gradlint.server")
_CELLS = types.NotebookDocumentFilterWithNotebook(notebook="*", cells=[types.NotebookCellLanguage(language="python")])


class Protocol(LanguageServerProtocol):
    """The protocol; a request that cannot be read is answered, so that nobody waits for it."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class Server(LanguageServer):
    """The server of one editor."""

    session: Session

    def __init__(self) -> None:
        super().__init__(
            *("gradlint", version()),
            notebook_document_sync=types.NotebookDocumentSyncOptions([_CELLS], save=True),
            protocol_cls=Protocol,
        )
        self.encoding = UTF16
        self._waiting: Counter[str] = Counter()
        self._shown: dict[str, str] = {}
        self._folder: TemporaryDirectory[str] | None = None

    def begin(self, params: types.InitializeParams) -> None:
        """Hear of the editor, and of its settings."""
        folders = params.workspace_folders or []
        root = (to_fs_path(folders[0].uri) if folders else None) or self.workspace.root_path
        self.encoding = types.PositionEncodingKind(self.workspace.position_encoding or UTF16).value
        self.session = Session(self, Path(root or Path.cwd()))
        self.configure(params.initialization_options)

    def configure(self, given: object) -> None:
        """Take what an editor sends as settings; where it is wrong, say so, and keep what there was."""
        try:
            settings = settings_of(given)
            if settings != self.session.settings:
                self.session.configure(settings)
        except ConfigError as error:
            self.complain(str(error))

    def can(self, *path: str) -> bool:
        """Return whether the client has a capability."""
        found: object = self.client_capabilities
        for name in path:
            found = getattr(found, name, None)
        return found not in (None, False)

    @property
    def is_asked(self) -> bool:
        """Whether the client asks for diagnostics; otherwise they are sent to it."""
        return self.can("text_document", "diagnostic")

    async def diagnostics(self, uri: str) -> tuple[str, list[types.Diagnostic]]:
        """Return what is to be shown in a piece of a document, and a word for it, once it is known."""
        document = self.session.document_of(uri)
        if document is None:
            return "", []
        self._waiting[document.uri] += 1
        try:
            report = await self.session.report(document.uri)
        finally:
            self._waiting[document.uri] -= 1
        found = {} if report is None else diagnostics_of(report, self.document_at)
        self._shown[document.uri] = _digest(found)
        return self._shown[document.uri], found.get(uri, [])

    def show(self, report: Report) -> None:
        """Show what was found; an editor that has asked for it is told to ask again."""
        found, home = diagnostics_of(report, self.document_at), report.document.uri
        if self.is_asked:
            shown = self._shown.get(home)
            news = self._waiting[home] == 0 and shown is not None and shown != _digest(found)
            if news and self.can("workspace", "diagnostics", "refresh_support"):
                self.workspace_diagnostic_refresh(None)
            return
        for cell in report.document.cells:
            self.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(cell.uri, found[cell.uri], cell.version)
            )

    def clear(self, document: Document) -> None:
        """Show nothing more in a document."""
        self._shown.pop(document.uri, None)
        for cell in document.cells if not self.is_asked else ():
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(cell.uri, []))

    def document_at(self, filename: str) -> Document | None:
        """Return the document of a file: as the editor has it, or else as it is on disk."""
        found = self.session.document_at(filename)
        content = read_bytes(Path(filename)) if found is None else b""
        text = decode(content) if isinstance(content, bytes) else content
        if found is not None or not isinstance(text, str):
            return found
        uri = Path(filename).absolute().as_uri()
        return file_document(types.TextDocumentItem(uri, "python", 0, text), self.encoding)

    def complain(self, problem: str) -> None:
        """Say in one line, in the log and to the user, what is wrong."""
        LOG.warning("%s", problem)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"gradlint: {problem}"))

    def say(self, what: str) -> str:
        """Say to the user why there is nothing to show; return it."""
        self.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"gradlint: {what}"))
        return what

    @property
    def folder(self) -> Path:
        """The directory of what is shown as a file, deleted at the end."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="gradlint-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    async def present(self, name: str, text: str) -> str:
        """Open a text in the editor, or a page in the browser; an editor that cannot is told where it is. Return it."""
        file = self.folder / name
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
        if self.can("window", "show_document", "support"):
            external = file.suffix == ".html"
            params = types.ShowDocumentParams(file.as_uri(), external=external, take_focus=True)
            await self.window_show_document_async(params)
        else:
            self.say(f"see {file}")
        return text

    def end(self) -> None:
        """End all work, and delete what was shown."""
        self.session.end()
        if self._folder is not None:
            self._folder.cleanup()

    def report_server_error(self, error: Exception, source: type[PyglsError] | type[JsonRpcException]) -> None:
        """Write one line about what went wrong with a message; whoever asks for something is answered anyway."""
        LOG.error("%s: %s", type(error).__name__, error)


def _digest(found: Mapping[str, list[types.Diagnostic]]) -> str:
    return digest_of(repr(found).encode("utf-8", "surrogatepass")) or ""
