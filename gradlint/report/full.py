"""The `full` format: each finding with its source, the places that explain it, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradlint.domain.finding import Finding
from gradlint.report.concise import Fixes, Urls, on_one_line, star, unlinked
from gradlint.report.frame import Mark, draw
from gradlint.report.paint import Paint
from gradlint.report.place import place_of
from gradlint.report.printable import printable
from gradlint.source.documents.kinds import shown_rows


def full(
    findings: Iterable[Finding],
    texts: Mapping[str, str],
    paint: Paint,
    fixes: Fixes,
    *,
    urls: Urls = unlinked,
    repros: bool = False,
) -> Iterator[str]:
    """Yield a paragraph for each finding; one about a file without text has no frame.

    `urls` gives the page about each code.
    """
    for finding in findings:
        text = texts.get(finding.filename, "")
        yield "\n".join(_paragraph(finding, text, paint, fixes, urls, repros)) + "\n"


def _paragraph(finding: Finding, text: str, paint: Paint, fixes: Fixes, urls: Urls, repros: bool) -> Iterator[str]:
    url = urls(finding.code)
    severity = paint.as_severity(f"{finding.severity}[{finding.code}]", finding.severity)
    head = f"{paint.link(severity, url)} {finding.name}{star(finding, paint, fixes)}"
    yield f"{head}: {paint.bold(on_one_line(finding.message))}"
    yield f" {paint.faint('-->')} {place_of(printable(finding.filename), finding.span)}"
    if text:
        here = [Mark(other.span, on_one_line(other.message)) for other in finding.related if other.filename is None]
        yield from draw(shown_rows(text, finding), [Mark(finding.span, "", finding.severity), *here], paint)
    for other in finding.related:
        if other.filename is not None:
            place = place_of(printable(other.filename), other.span)
            yield f" {paint.faint(':::')} {place}: {on_one_line(other.message)}"
    if finding.hint:
        yield f" {paint.faint('=')} {paint.bold('help')}: {on_one_line(finding.hint)}"
    if finding.fix:
        how = "" if finding.fix.safe else " (unsafe: it changes values)"
        yield f" {paint.faint('=')} {paint.bold('fix')}{how}: {on_one_line(finding.fix.message)}"
    if asked := finding.confirmation:
        said = asked.error.strip().split("\n")[0] if asked.error else asked.reason
        yield f" {paint.faint('=')} {paint.bold(asked.verdict)}: {on_one_line(said)}"
    if finding.run is not None:
        yield f" {paint.faint('=')} {paint.bold('run')}: {finding.run.said}"
    if url is not None:
        yield f" {paint.faint('=')} {paint.bold('see')}: {url} (`gradlint rule {finding.code}`)"
