"""Questions of an editor about what is open."""

from __future__ import annotations

from lsprotocol import types

from gradlint.server.actions import FIX_ALL, fix_all, is_wanted, quick_fixes
from gradlint.server.hints import hints, lenses
from gradlint.server.hover import hover
from gradlint.server.server import Server


async def code_action(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Return what can be done about the findings of a stretch."""
    uri, only = params.text_document.uri, params.context.only
    document = ls.session.document_of(uri)
    if document is None:
        return []
    found: list[types.CodeAction] = []
    if is_wanted(types.CodeActionKind.QuickFix.value, only):
        report = await ls.session.report(document.uri)
        start, end = document.place(uri, params.range.start), document.place(uri, params.range.end)
        is_newest = report is not None and report.document.content == document.content
        if report is not None and is_newest and start is not None and end is not None:
            found += quick_fixes(report, start, end, params.context.diagnostics)
    if is_wanted(FIX_ALL, only):
        action = fix_all(document, await ls.session.ask(lambda checks: checks.mended(document)))
        found += [] if action is None else [action]
    return found


async def hovered(ls: Server, params: types.HoverParams) -> types.Hover | None:
    """Return what is known of a place."""
    document = ls.session.document_of(params.text_document.uri)
    place = None if document is None else document.place(params.text_document.uri, params.position)
    if document is None or place is None:
        return None
    told = await ls.session.ask(lambda checks: hover(checks, document, place))
    return None if told is None else types.Hover(types.MarkupContent(types.MarkupKind.Markdown, told))


async def inlay_hint(ls: Server, params: types.InlayHintParams) -> list[types.InlayHint]:
    """Return the shapes of a stretch, where the editor wants them."""
    uri = params.text_document.uri
    document = ls.session.document_of(uri) if ls.session.settings.inlay_hints else None
    if document is None:
        return []
    cell = next(cell for _, cell in document.numbered if cell.uri == uri)
    return await ls.session.ask(lambda checks: hints(checks, document, cell, params.range))


async def code_lens(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return the lenses of a file, where the editor wants them."""
    document = ls.session.documents.get(params.text_document.uri) if ls.session.settings.code_lens else None
    if document is None or document.is_notebook:  # A graph is drawn of files.
        return []
    return await ls.session.ask(lambda checks: lenses(checks, document, document.cells[0]))
