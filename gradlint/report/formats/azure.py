"""The `azure` format: commands of Azure Pipelines, which list findings on the page of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradlint.domain.finding import Severity
from gradlint.report.concise import said
from gradlint.report.printable import steerless
from gradlint.report.report import Report

_TYPES: Mapping[Severity, str] = {"error": "error", "warning": "warning", "info": "warning"}
_MARKS = str.maketrans({"%": "%AZP25", ";": "%3B", "\r": "%0D", "\n": "%0A", "]": "%5D"})


def write(report: Report) -> Iterator[str]:
    """Yield a command for each finding; there are no types but error and warning, and no ends of stretches."""
    for finding in report.placed:
        properties = {
            "type": _TYPES[finding.severity],
            "sourcepath": report.path(finding.filename),
            "linenumber": f"{finding.span.start.row}",
            "columnnumber": f"{finding.span.start.column}",
            "code": finding.code,
        }
        written = "".join(f"{key}={_escaped(value)};" for key, value in properties.items())
        yield f"##vso[task.logissue {written}]{_escaped(said(finding))}"


def _escaped(text: str) -> str:
    return steerless(text.translate(_MARKS))
