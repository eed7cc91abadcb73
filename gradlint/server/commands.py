"""Commands that the editor runs on request: explain a row, draw the graph behind it, let torch confirm a finding."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any

from gradlint.domain.drawing import Drawing
from gradlint.explain import Explanation, explain
from gradlint.graph import Undrawn, graph
from gradlint.report.drawing.layout import NoLayoutError
from gradlint.report.drawing.page import as_page
from gradlint.report.drawing.svg import TooManyBoxesError
from gradlint.report.drawing.tree import as_tree
from gradlint.report.explanation import as_text
from gradlint.server.checks import Checks
from gradlint.server.documents import Document
from gradlint.server.hints import GRAPH
from gradlint.server.server import Server
from gradlint.source.read import Unusable

EXPLAIN, CONFIRM = "gradlint.explain", "gradlint.confirm"
_CONFIRM = (
    "import sys; place, sys.path[:] = sys.argv[1], sys.argv[2:];"
    "from gradlint.entrypoints.cli import main; sys.exit(main(['confirm', '--stdin', place]))"
)
"""What the process is given: with -I it searches no directory but those that it is told of."""

_ONLY_FILES = "this works on Python files"


async def explained(ls: Server, uri: str, row: int) -> str:
    """Show what `gradlint explain` says of a row, which counts from 1."""
    document = ls.session.documents.get(uri)
    if document is None or document.is_notebook:
        return ls.say(_ONLY_FILES)

    def job(checks: Checks) -> Explanation | Unusable:
        return explain(document.content, document.name, row, config=checks.configs.of(document.path.parent))

    found = await ls.session.ask(job)
    if isinstance(found, Unusable):
        return ls.say(found.message)
    return await ls.present(f"explain-{row}.txt", as_text(found))


async def drawn(ls: Server, uri: str, row: int) -> str:
    """Show the picture that `gradlint graph` makes of a row, or the text where nothing here can lay it out."""
    document = ls.session.documents.get(uri)
    if document is None or document.is_notebook:
        return ls.say(_ONLY_FILES)

    def job(checks: Checks) -> Drawing | Undrawn | Unusable:
        return graph(document.content, document.name, row, config=checks.configs.of(document.path.parent))

    found = await ls.session.ask(job)
    if not isinstance(found, Drawing):
        return ls.say(found.why if isinstance(found, Undrawn) else found.message)
    try:
        return await ls.present(f"graph-{row}.html", as_page(found))
    except NoLayoutError:
        ls.say("a picture needs a library that lays out graphs: `pip install torch-gradlint[graph]`")
    except TooManyBoxesError:
        ls.say(f"{len(found.steps):,} nodes are too many for a picture")
    return await ls.present(f"graph-{row}.txt", as_tree(found))


async def confirmed(ls: Server, uri: str, row: int, code: str) -> str:
    """Let torch confirm a finding of the row, in the sandbox of `gradlint confirm`, and show what it says."""
    document = ls.session.document_of(uri)
    if document is None:
        return ls.say("nothing is open there")
    text = await _asked(ls, document, _place(document, uri, row, code))
    return await ls.present(f"confirm-{code}-{row}.txt", text)


def _place(document: Document, uri: str, row: int, code: str) -> str:
    number = next(number for number, cell in document.numbered if cell.uri == uri)
    return f"{document.path}{'' if number is None else f':cell {number}'}:{row}:{code}"


async def _asked(ls: Server, document: Document, place: str) -> str:
    """Ask in a process of its own: the sandbox ends with it."""
    path = [folder for folder in sys.path if folder]
    asked = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", _CONFIRM, place, *path),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, error = await asked.communicate(document.content.encode("utf-8", "surrogatepass"))
    finally:
        if asked.returncode is None:
            asked.terminate()  # It then ends its sandbox.
    return (out or error).decode("utf-8", "replace")


COMMANDS: Mapping[str, Callable[..., Any]] = {EXPLAIN: explained, GRAPH: drawn, CONFIRM: confirmed}
