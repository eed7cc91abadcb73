"""The `grouped` format: the name of each file once, and its findings below."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from gradlint.domain.finding import Finding
from gradlint.report.concise import coded, repro, said, star
from gradlint.report.place import within
from gradlint.report.printable import printable
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield a block for each file, the places of its findings in one column."""
    for filename, group in groupby(report.findings, key=lambda finding: finding.filename):
        findings = list(group)
        width = max(len(within(finding.span)) for finding in findings)
        lines = [line for finding in findings for line in _lines(finding, width, report)]
        yield "\n".join((f"{report.paint.bold(printable(filename))}:", *lines, ""))


def _lines(finding: Finding, width: int, report: Report) -> Iterator[str]:
    mark = f"{coded(finding, report.paint, report.url)}{star(finding, report.paint, report.fixes)}"
    yield f"  {within(finding.span):{width}}  {mark} {said(finding)}"
    if report.repros:
        yield from repro(finding)
