"""The `pylint` format: lines as of `pylint --output-format=parseable`, which diff-cover and Jenkins read."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.report.concise import said
from gradlint.report.place import place_of
from gradlint.report.printable import printable
from gradlint.report.report import Report


def write(report: Report) -> Iterator[str]:
    """Yield `path:row: [code(name), ] message`; where pylint names a function, there is nothing."""
    for finding in report.placed:
        place = place_of(printable(report.path(finding.filename)), finding.span, column=False)
        yield f"{place}: [{finding.code}({finding.name}), ] {said(finding)}"
