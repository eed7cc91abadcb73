"""`gradlint server`."""

from __future__ import annotations

import click

from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem

_MISSING = ("pygls", "lsprotocol")


@click.command()
@plugin_options
def server() -> None:
    """Answer an editor on standard input and output, by the Language Server Protocol.

    Editors start it; docs/language-server.md says how.
    """
    try:
        from gradlint.server.serve import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _MISSING:
            raise
        raise Problem("the language server needs pygls: `pip install torch-gradlint[server]`") from error
    serve()
