"""The `concise` format: one line for a finding, as compilers write it, so that editors can read it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from gradlint.domain.finding import Finding
from gradlint.report.paint import Paint
from gradlint.report.place import place_of
from gradlint.report.printable import printable

Fixes: TypeAlias = Callable[[Finding], bool]
"""Whether the fix of a finding would be made if it were asked for."""

Urls: TypeAlias = Callable[[str], "str | None"]
"""The page about the rule with a code."""


def unlinked(code: str) -> None:
    """No rule has a page."""


def concise(
    findings: Iterable[Finding], paint: Paint, fixes: Fixes, *, urls: Urls = unlinked, repros: bool = False
) -> Iterator[str]:
    """`file:row:column: severity: code name: message`, with `[*]` after the name where there is a fix to make.

    A severity with a colon after the place is how gcc writes it, which editors and matchers of problems read.
    """
    for finding in findings:
        place = f"{place_of(paint.bold(printable(finding.filename)), finding.span)}:"
        severity = paint.as_severity(f"{finding.severity}:", finding.severity)
        code = paint.link(paint.bold(finding.code), urls(finding.code))
        yield f"{place} {severity} {code} {finding.name}{star(finding, paint, fixes)}: {said(finding)}"
        if repros:
            yield from repro(finding)


def coded(finding: Finding, paint: Paint, urls: Urls) -> str:
    """Return the code in the colour of the severity, as a link to its page where the terminal has links."""
    return paint.link(paint.as_severity(finding.code, finding.severity), urls(finding.code))


def said(finding: Finding) -> str:
    """Return the message, and what torch says of it, on one line: what formats for other programs call the message."""
    return f"{on_one_line(finding.message)}{verdict(finding)}"


def said_with_hint(finding: Finding) -> str:
    """Return the same, and on a line below what to write instead."""
    return said(finding) if finding.hint is None else f"{said(finding)}\nhelp: {on_one_line(finding.hint)}"


def repro(finding: Finding) -> Iterator[str]:
    """Yield the program that shows the fault, indented, where torch was asked and there is one."""
    if finding.confirmation is not None and finding.confirmation.repro is not None:
        yield from ("    " + printable(line) for line in finding.confirmation.repro.splitlines())


def verdict(finding: Finding) -> str:
    """Return what torch says of the finding, where it was asked, and what a run of the program does."""
    asked, run = finding.confirmation, "" if finding.run is None else f" ({finding.run.said})"
    if asked is None:
        return run
    why = "" if asked.verdict == "confirmed" else f": {on_one_line(asked.reason)}"
    return f" ({asked.verdict}{why}){run}"


def star(finding: Finding, paint: Paint, fixes: Fixes) -> str:
    """Return the mark of a finding that `--fix` mends, as ruff makes it."""
    return f" [{paint.faint('*')}]" if fixes(finding) else ""


def on_one_line(text: str) -> str:
    """Return the text without line ends, which would tear a line of the report in two."""
    return printable(" ".join(text.split()))
