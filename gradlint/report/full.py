"""The `full` format: each finding with its source, the places that explain it, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradlint.domain.finding import Finding
from gradlint.report.concise import Fixes, on_one_line, repro, star
from gradlint.report.frame import Mark, draw
from gradlint.report.paint import Paint
from gradlint.report.printable import printable
from gradlint.source.read import split_lines


def full(
    findings: Iterable[Finding],
    texts: Mapping[str, str],
    paint: Paint,
    fixes: Fixes,
    urls: Mapping[str, str | None],
    *,
    repros: bool = False,
) -> Iterator[str]:
    """Yield a paragraph for each finding; one about a file without text has no frame.

    `urls` gives the page about each code.
    """
    for finding in findings:
        lines = _paragraph(finding, texts.get(finding.filename, ""), paint, fixes, urls.get(finding.code))
        yield "\n".join([*lines, *(repro(finding) if repros else ())]) + "\n"


def _paragraph(finding: Finding, text: str, paint: Paint, fixes: Fixes, url: str | None) -> Iterator[str]:
    start = finding.span.start
    severity = paint.as_severity(f"{finding.severity}[{finding.code}]", finding.severity)
    yield f"{severity} {finding.name}{star(finding, paint, fixes)}: {paint.bold(on_one_line(finding.message))}"
    yield f" {paint.faint('-->')} {printable(finding.filename)}:{start.row}:{start.column}"
    if text:
        here = [Mark(other.span, on_one_line(other.message)) for other in finding.related if other.filename is None]
        yield from draw(split_lines(text), [Mark(finding.span, "", finding.severity), *here], paint)
    for other in finding.related:
        if other.filename is not None:
            place = f"{printable(other.filename)}:{other.span.start.row}:{other.span.start.column}"
            yield f" {paint.faint(':::')} {place}: {on_one_line(other.message)}"
    if finding.hint:
        yield f" {paint.faint('=')} {paint.bold('help')}: {on_one_line(finding.hint)}"
    if finding.fix:
        how = "" if finding.fix.safe else " (unsafe: it changes values)"
        yield f" {paint.faint('=')} {paint.bold('fix')}{how}: {on_one_line(finding.fix.message)}"
    if asked := finding.confirmation:
        said = asked.error.strip().split("\n")[0] if asked.error else asked.reason
        yield f" {paint.faint('=')} {paint.bold(asked.verdict)}: {on_one_line(said)}"
    if url is not None:
        yield f" {paint.faint('=')} {paint.bold('see')}: {url} (`gradlint rule {finding.code}`)"
