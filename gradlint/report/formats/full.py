"""The `full` format: a paragraph for a finding."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.report.full import full
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield a paragraph for each finding, with the source."""
    return full(report.findings, report.texts, report.paint, report.fixes, urls=report.url, repros=report.repros)
