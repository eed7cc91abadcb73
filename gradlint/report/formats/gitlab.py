"""The `gitlab` format: a report of code quality, which GitLab compares between a merge request and its target."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from gradlint.domain.finding import Finding, Severity
from gradlint.report.concise import said
from gradlint.report.report import Report

_SEVERITIES: Mapping[Severity, str] = {"error": "major", "warning": "minor", "info": "info"}


def write(report: Report) -> Iterator[str]:
    """Yield one document."""
    yield json.dumps([_issue(finding, report.marks[finding], report) for finding in report.placed], indent=2)


def _issue(finding: Finding, fingerprint: str, report: Report) -> dict[str, object]:
    lines = {"begin": finding.span.start.row, "end": finding.span.end.row}
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code} {finding.name}: {said(finding)}",
        "categories": ["Bug Risk"],
        "severity": _SEVERITIES[finding.severity],
        "fingerprint": fingerprint,
        "location": {"path": report.path(finding.filename), "lines": lines},
    }
