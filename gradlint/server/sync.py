"""Messages about what is open, and what was found there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lsprotocol import types
from pygls.uris import to_fs_path

from gradlint.server.documents import changed_notebook, file_document, notebook_document
from gradlint.server.server import Server
from gradlint.server.settings import SECTION
from gradlint.settings.config import ConfigError
from gradlint.source.kept import FOLDER

_WATCHED = "**/*.{py,toml}"


def initialize(ls: Server, params: types.InitializeParams) -> None:
    """Begin."""
    ls.begin(params)


def initialized(ls: Server, params: types.InitializedParams) -> None:
    """Ask to hear of files that change, and of settings."""
    wanted = []
    if ls.can("workspace", "did_change_watched_files", "dynamic_registration"):
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(_WATCHED)])
        wanted.append(types.Registration("gradlint-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options))
    if ls.can("workspace", "did_change_configuration", "dynamic_registration"):
        section = {"section": SECTION}
        wanted.append(types.Registration("gradlint-settings", types.WORKSPACE_DID_CHANGE_CONFIGURATION, section))
    if wanted:
        ls.client_register_capability(types.RegistrationParams(wanted))


def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    """Check what was opened."""
    ls.session.open(file_document(params.text_document, ls.encoding))


def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    """Check what was changed."""
    told = params.text_document
    document = ls.session.documents.get(told.uri)
    if document is not None:
        ls.session.change(document.changed(told.uri, params.content_changes, told.version))


def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """Check what was saved."""
    document = ls.session.documents.get(params.text_document.uri)
    if document is not None:
        ls.session.save(document)


def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    """Forget what was closed."""
    ls.session.close(params.text_document.uri)


def notebook_did_open(ls: Server, params: types.DidOpenNotebookDocumentParams) -> None:
    """Check a notebook that was opened."""
    ls.session.open(notebook_document(params, ls.encoding))


def notebook_did_change(ls: Server, params: types.DidChangeNotebookDocumentParams) -> None:
    """Check a notebook that was changed."""
    document = ls.session.documents.get(params.notebook_document.uri)
    if document is not None:
        ls.session.change(changed_notebook(document, params.change, ls.encoding))


def notebook_did_save(ls: Server, params: types.DidSaveNotebookDocumentParams) -> None:
    """Check a notebook that was saved."""
    document = ls.session.documents.get(params.notebook_document.uri)
    if document is not None:
        ls.session.save(document)


def notebook_did_close(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    """Forget a notebook that was closed."""
    ls.session.close(params.notebook_document.uri)


def files_changed(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    """Look again at files that were changed, made or deleted."""
    same = all(change.type == types.FileChangeType.Changed for change in params.changes)
    paths = [Path(path) for change in params.changes if (path := to_fs_path(change.uri))]
    try:
        ls.session.files_changed([path for path in paths if FOLDER not in path.parts], same_files=same)
    except ConfigError as error:
        ls.complain(str(error))


async def settings_changed(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    """Take the settings, which a newer editor does not send but lets us ask for."""
    given = params.settings
    if not (isinstance(given, Mapping) and SECTION in given) and ls.can("workspace", "configuration"):
        asked = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
        (given,) = await ls.workspace_configuration_async(asked)
    ls.configure(given)


async def diagnostic(ls: Server, params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
    """Answer an editor that asks."""
    word, found = await ls.diagnostics(params.text_document.uri)
    if word and word == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(result_id=word)
    return types.RelatedFullDocumentDiagnosticReport(items=found, result_id=word)
