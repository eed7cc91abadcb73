"""The `concise` format: a line for a finding."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.report.concise import concise
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield a line for each finding, and its repro below where it is asked for."""
    return concise(report.findings, report.paint, report.fixes, urls=report.url, repros=report.repros)
