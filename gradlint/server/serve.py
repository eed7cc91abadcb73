"""Which messages the server answers, and how it ends."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

from lsprotocol import types

from gradlint.report.printable import printable
from gradlint.server import asking, commands, sync
from gradlint.server.actions import KINDS
from gradlint.server.server import LOG, Server

_OWN = (
    types.TEXT_DOCUMENT_DID_OPEN,
    types.TEXT_DOCUMENT_DID_CHANGE,
    types.TEXT_DOCUMENT_DID_CLOSE,
    types.NOTEBOOK_DOCUMENT_DID_OPEN,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE,
)
"""What pygls would do before us: its texts have other rows, as they end at form feeds, too (2.1.1)."""


_FEATURES: Mapping[str, Callable[..., Any]] = {
    types.INITIALIZE: sync.initialize,
    types.INITIALIZED: sync.initialized,
    types.TEXT_DOCUMENT_DID_OPEN: sync.did_open,
    types.TEXT_DOCUMENT_DID_CHANGE: sync.did_change,
    types.TEXT_DOCUMENT_DID_SAVE: sync.did_save,
    types.TEXT_DOCUMENT_DID_CLOSE: sync.did_close,
    types.NOTEBOOK_DOCUMENT_DID_OPEN: sync.notebook_did_open,
    types.NOTEBOOK_DOCUMENT_DID_CHANGE: sync.notebook_did_change,
    types.NOTEBOOK_DOCUMENT_DID_SAVE: sync.notebook_did_save,
    types.NOTEBOOK_DOCUMENT_DID_CLOSE: sync.notebook_did_close,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: sync.files_changed,
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: sync.settings_changed,
    types.TEXT_DOCUMENT_DIAGNOSTIC: sync.diagnostic,
    types.TEXT_DOCUMENT_CODE_ACTION: asking.code_action,
    types.TEXT_DOCUMENT_HOVER: asking.hovered,
    types.TEXT_DOCUMENT_INLAY_HINT: asking.inlay_hint,
    types.TEXT_DOCUMENT_CODE_LENS: asking.code_lens,
}
_OPTIONS: Mapping[str, object] = {
    types.TEXT_DOCUMENT_DIAGNOSTIC: types.DiagnosticOptions(
        inter_file_dependencies=True, workspace_diagnostics=False, identifier="gradlint"
    ),
    types.TEXT_DOCUMENT_CODE_ACTION: types.CodeActionOptions(code_action_kinds=KINDS),
}


class _OneLine(logging.Formatter):
    """One line for each record, whatever is in it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return printable(f"gradlint: {' '.join(record.getMessage().split())}")


def made() -> Server:
    """Return a server with all that it answers."""
    server = Server()
    for name in _OWN:
        server.protocol.fm.builtin_features.pop(name)
    for name, handler in _FEATURES.items():
        server.feature(name, _OPTIONS.get(name))(handler)
    for name, handler in commands.COMMANDS.items():
        server.command(name)(handler)
    return server


def serve() -> None:
    """Answer on standard input and output until the editor ends."""
    out, sys.stdout = sys.stdout.buffer, sys.stderr  # What anything prints would be no message.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_OneLine())
    logging.getLogger().addHandler(handler)
    logging.getLogger("pygls").setLevel(logging.CRITICAL)  # It writes whole tracebacks of what we report in a line.
    server = made()
    try:
        server.start_io(stdout=out)
    except (OSError, ValueError) as error:  # The editor is gone.
        LOG.error("%s", error)
    finally:
        if hasattr(server, "session"):
            server.end()
