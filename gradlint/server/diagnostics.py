"""Findings as diagnostics of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from lsprotocol import types
from pygls.uris import from_fs_path

from gradlint.domain.finding import Finding, Related, Severity
from gradlint.report.concise import said_with_hint
from gradlint.report.rule_page import url_of
from gradlint.rules.registry import all_rules
from gradlint.server.checks import Report
from gradlint.server.documents import Cell, Document

SOURCE = "gradlint"
_SEVERITIES: Mapping[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}
_LEGACY = "GRD8"
"""The rules about what torch has, or had, another name for."""

_IDLE_COMMENTS = ("GRD003",)
"""The rule about comments that silence nothing: nothing would be another without them."""

Elsewhere = Callable[[str], "Document | None"]
"""The document of a file, by its name, so far as its text is at hand."""


def diagnostics_of(report: Report, elsewhere: Elsewhere) -> dict[str, list[types.Diagnostic]]:
    """Return what is to be shown in each piece of a document, by its address."""
    found: dict[str, list[types.Diagnostic]] = {cell.uri: [] for cell in report.document.cells}
    for finding in report.findings:
        cell = report.document.cell(finding.span)
        found[cell.uri].append(diagnostic(finding, cell, report.document, elsewhere))
    return found


def diagnostic(finding: Finding, cell: Cell, document: Document, elsewhere: Elsewhere) -> types.Diagnostic:
    """Return a finding in a piece of a document."""
    url = _urls().get(finding.code)
    return types.Diagnostic(
        range=cell.text.range(finding.span),
        message=said_with_hint(finding),
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(url) if url else None,
        source=SOURCE,
        tags=list(_tags(finding)) or None,
        related_information=[_related(one, cell, document, elsewhere) for one in finding.related] or None,
    )


def _related(
    place: Related, cell: Cell, document: Document, elsewhere: Elsewhere
) -> types.DiagnosticRelatedInformation:
    """Return a place that explains a finding, which may be in another cell or file."""
    uri, text = cell.uri, cell.text
    if place.filename == document.name:
        other = document.cell(place.span)
        uri, text = other.uri, other.text
    elif place.filename is not None:
        home = elsewhere(place.filename)
        uri = from_fs_path(place.filename) or "" if home is None else home.cells[0].uri
        text = text if home is None else home.cells[0].text
    return types.DiagnosticRelatedInformation(types.Location(uri, text.range(place.span)), place.message)


def _tags(finding: Finding) -> Iterator[types.DiagnosticTag]:
    if finding.effect == "legacy" and finding.code.startswith(_LEGACY):
        yield types.DiagnosticTag.Deprecated
    if finding.code in _IDLE_COMMENTS:
        yield types.DiagnosticTag.Unnecessary


@cache
def _urls() -> Mapping[str, str | None]:
    return {rule.code: url_of(rule) for rule in all_rules()}
