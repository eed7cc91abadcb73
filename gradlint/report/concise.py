"""The `concise` format: one line for a finding, as flake8 and ruff write it, so that editors can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from gradlint.domain.finding import Finding
from gradlint.report.paint import Paint
from gradlint.report.place import place_of
from gradlint.report.printable import printable

Fixes: TypeAlias = Callable[[Finding], bool]
"""Whether the fix of a finding would be made if it were asked for."""


def concise(findings: Iterable[Finding], paint: Paint, fixes: Fixes, *, repros: bool = False) -> Iterator[str]:
    """`file:row:column: code message`, with `[*]` where there is a fix to make."""
    for finding in findings:
        place = f"{place_of(paint.bold(printable(finding.filename)), finding.span)}:"
        code = paint.as_severity(finding.code, finding.severity)
        yield f"{place} {code}{star(finding, paint, fixes)} {on_one_line(finding.message)}{verdict(finding)}"
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
