"""The `concise` format: one line for a finding, as flake8 and ruff write it, so that editors can read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlint.domain.finding import Finding
from gradlint.report.paint import Paint


def concise(findings: Iterable[Finding], paint: Paint) -> Iterator[str]:
    """`file:row:column: code message`."""
    for finding in findings:
        start = finding.span.start
        place = f"{paint.bold(finding.filename)}:{start.row}:{start.column}:"
        yield f"{place} {paint.as_severity(finding.code, finding.severity)} {on_one_line(finding.message)}"


def on_one_line(text: str) -> str:
    """The text without line ends, which would tear a line of the report in two."""
    return " ".join(text.split())
