"""What can be done about findings: their fixes, comments that silence them, and all safe fixes at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from lsprotocol import types

from gradlint.domain.finding import Finding
from gradlint.fixes.suppress import suppressed
from gradlint.outcome import Mended
from gradlint.server.checks import Report
from gradlint.server.diagnostics import SOURCE
from gradlint.server.documents import Document, Place

FIX_ALL = "source.fixAll.gradlint"
KINDS: Sequence[types.CodeActionKind | str] = (types.CodeActionKind.QuickFix, FIX_ALL)


def is_wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Return whether an editor that asks for some kinds of actions, or for all but those of whole files, wants one."""
    if only is None:
        return kind != FIX_ALL
    words = (one.value if isinstance(one, types.CodeActionKind) else one for one in only)
    return any(kind == word or kind.startswith(f"{word}.") or word == "" for word in words)


def quick_fixes(
    report: Report, start: Place, end: Place, shown: Sequence[types.Diagnostic]
) -> Iterator[types.CodeAction]:
    """Yield what can be done about the findings of a stretch; `shown` are those that the editor shows there."""
    for finding in report.findings:
        first, last = finding.span.start.row, finding.span.end.row
        if finding.span.cell == start.number and first <= end.at.row and start.at.row <= last:
            about = [one for one in shown if one.source == SOURCE and one.code == finding.code]
            yield from _fix(report, finding, about)
            yield from _silence(report, finding, about)


def _fix(report: Report, finding: Finding, about: list[types.Diagnostic]) -> Iterator[types.CodeAction]:
    fix = finding.fix
    if fix is None or not report.config.may_fix(finding):
        return
    cell = report.document.cell(finding.span)
    edits = [types.TextEdit(cell.text.range(edit.span), edit.content) for edit in fix.edits]
    how = "" if fix.safe else " (unsafe: may change values)"
    yield types.CodeAction(
        title=f"{finding.code}: {fix.message}{how}",
        kind=types.CodeActionKind.QuickFix,
        diagnostics=about,
        is_preferred=fix.safe,
        edit=types.WorkspaceEdit({cell.uri: edits}),
    )


def _silence(report: Report, finding: Finding, about: list[types.Diagnostic]) -> Iterator[types.CodeAction]:
    """Yield the comment that `gradlint check --add-noqa` would write."""
    cell = report.document.cell(finding.span)
    edits = cell.text.rewritten(suppressed(cell.text.text, [replace(finding, fix=None)]))
    if edits:
        yield types.CodeAction(
            title=f"{finding.code}: ignore it here with a comment",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=about,
            edit=types.WorkspaceEdit({cell.uri: edits}),
        )


def fix_all(document: Document, mended: Mended | None) -> types.CodeAction | None:
    """Return the action that makes all safe fixes, which were made apart; None for none."""
    if mended is None:
        return None
    after = {number: cells[1] for number, cells in (mended.cells or {}).items()}
    texts = {cell.uri: mended.after if number is None else after.get(number) for number, cell in document.numbered}
    edits = {cell.uri: cell.text.rewritten(text) for cell in document.cells if (text := texts[cell.uri]) is not None}
    changes: dict[str, Sequence[types.TextEdit]] = {uri: one for uri, one in edits.items() if one}
    if not changes:
        return None
    return types.CodeAction("Fix all safe findings of gradlint", FIX_ALL, edit=types.WorkspaceEdit(changes))
