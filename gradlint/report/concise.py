"""The `concise` format: one line for a finding, as compilers write it, so that editors can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from gradlint.domain.finding import Finding
from gradlint.report.paint import Paint
from gradlint.report.printable import printable

Fixes: TypeAlias = Callable[[Finding], bool]
"""Whether the fix of a finding would be made if it were asked for."""


def concise(findings: Iterable[Finding], paint: Paint, fixes: Fixes, *, repros: bool = False) -> Iterator[str]:
    """`file:row:column: severity: code name: message`, with `[*]` after the name where there is a fix to make.

    A severity with a colon after the place is how gcc writes it, which editors and matchers of problems read.
    """
    for finding in findings:
        start = finding.span.start
        place = f"{paint.bold(printable(finding.filename))}:{start.row}:{start.column}:"
        severity = paint.as_severity(f"{finding.severity}:", finding.severity)
        rule = f"{paint.bold(finding.code)} {finding.name}{star(finding, paint, fixes)}:"
        yield f"{place} {severity} {rule} {on_one_line(finding.message)}{verdict(finding)}"
        if repros:
            yield from repro(finding)


def repro(finding: Finding) -> Iterator[str]:
    """Yield the program that shows the fault, indented, where torch was asked and there is one."""
    if finding.confirmation is not None and finding.confirmation.repro is not None:
        yield from ("    " + printable(line) for line in finding.confirmation.repro.splitlines())


def verdict(finding: Finding) -> str:
    """Return what torch says of the finding, where it was asked."""
    asked = finding.confirmation
    if asked is None:
        return ""
    why = "" if asked.verdict == "confirmed" else f": {on_one_line(asked.reason)}"
    return f" ({asked.verdict}{why})"


def star(finding: Finding, paint: Paint, fixes: Fixes) -> str:
    """Return the mark of a finding that `--fix` mends, as ruff makes it."""
    return f" [{paint.faint('*')}]" if fixes(finding) else ""


def on_one_line(text: str) -> str:
    """Return the text without line ends, which would tear a line of the report in two."""
    return printable(" ".join(text.split()))
