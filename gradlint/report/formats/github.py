"""The `github` format: commands of GitHub Actions, which annotate the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradlint.domain.finding import Finding, Severity, Span
from gradlint.report.concise import said_with_hint
from gradlint.report.printable import steerless
from gradlint.report.report import Report

_COMMANDS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "notice"}
_DATA = {ord("%"): "%25", ord("\r"): "%0D", ord("\n"): "%0A"}
_PROPERTY = {**_DATA, ord(":"): "%3A", ord(","): "%2C"}


def write(report: Report) -> Iterator[str]:
    """Yield a command for each finding; the end column is the one after the last character."""
    for finding in report.placed:
        properties = {"file": report.path(finding.filename), **_place(finding.span), "title": _title(finding)}
        written = ",".join(f"{key}={_escaped(value, _PROPERTY)}" for key, value in properties.items())
        yield f"::{_COMMANDS[finding.severity]} {written}::{_escaped(said_with_hint(finding), _DATA)}"


def _title(finding: Finding) -> str:
    return f"{finding.code} {finding.name}"


def _place(span: Span) -> dict[str, str]:
    """GitHub takes columns only where both are in one row."""
    rows = {"line": f"{span.start.row}", "endLine": f"{span.end.row}"}
    if span.start.row != span.end.row:
        return rows
    return {**rows, "col": f"{span.start.column}", "endColumn": f"{span.end.column}"}


def _escaped(text: str, marks: Mapping[int, str]) -> str:
    """Return the text with what would end it escaped, and what would steer a terminal as Python writes it."""
    return steerless(text.translate(marks))
