"""One finding as an article of the page: what is said, the source, the tape, and the program that proves it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import groupby

from gradlint.domain.drawing import Drawing
from gradlint.domain.finding import Finding
from gradlint.report.concise import on_one_line
from gradlint.report.drawing.layout import NoLayoutError
from gradlint.report.drawing.svg import TooManyBoxesError, as_svg
from gradlint.report.drawing.tree import as_tree
from gradlint.report.drawing.words import title
from gradlint.report.frame import Mark
from gradlint.report.place import place_of, within
from gradlint.report.printable import printable, steerless
from gradlint.report.report import Report
from gradlint.report.webpage.excerpt import excerpt
from gradlint.source.documents.kinds import shown_rows


def articles(report: Report) -> Iterator[str]:
    """Yield all findings, file by file."""
    number = 0
    for filename, group in groupby(report.standing, key=lambda finding: finding.filename):
        yield f"<section><h2>{escape(printable(filename))}</h2>"
        for finding in group:
            number += 1
            yield from article(report, finding, number)
        yield "</section>"


def article(report: Report, finding: Finding, number: int) -> Iterator[str]:
    """Yield the article; its attributes are what the filters of the page go by."""
    verdict = finding.confirmation.verdict if finding.confirmation else "not run"
    keys = {"code": finding.code, "severity": finding.severity, "file": printable(finding.filename), "verdict": verdict}
    data = " ".join(f'data-{key}="{escape(value)}"' for key, value in keys.items())
    yield f'<article id="finding-{number}" {data}>'
    yield "<details><summary>"
    yield f'<span class="severity {finding.severity}">{finding.severity}</span>'
    yield f'<span class="code">{finding.code}</span> <span class="name">{escape(finding.name)}</span>'
    yield f'<span class="place">{escape(_place(finding))}</span>'
    yield f'<span class="message">{coded(finding.message)}</span>'
    yield "</summary>"
    yield from _facts(report, finding)
    yield _source(report, finding)
    drawing = report.tapes(finding)
    if drawing is not None:
        yield from _tape(drawing)
    if finding.confirmation is not None and finding.confirmation.repro is not None:
        yield "<h3>The program that shows it, by itself</h3>"
        rows = "\n".join(escape(steerless(line)) for line in finding.confirmation.repro.splitlines())
        yield f'<pre tabindex="0" aria-label="program"><code>{rows}</code></pre>'
    yield "</details></article>"


def coded(text: str) -> str:
    """Return a message with what stands in backticks as code."""
    parts = escape(on_one_line(text)).split("`")
    if len(parts) % 2 == 0:
        return "`".join(parts)
    return "".join(part if at % 2 == 0 else f"<code>{part}</code>" for at, part in enumerate(parts))


def _place(finding: Finding) -> str:
    return f"line {within(finding.span)}" if finding.span.cell is None else within(finding.span)


def _facts(report: Report, finding: Finding) -> Iterator[str]:
    """Yield what else is said: the repair, what torch says, what is assumed, and the page about the rule."""
    rows: list[tuple[str, str]] = []
    if finding.hint:
        rows.append(("help", coded(finding.hint)))
    if finding.fix:
        rows.append(("fix", coded(finding.fix.message) + ("" if finding.fix.safe else " (unsafe: it changes values)")))
    if asked := finding.confirmation:
        said = asked.error.strip().split("\n")[0] if asked.error else asked.reason
        rows.append((asked.verdict, escape(on_one_line(said))))
    if finding.run is not None:
        rows.append(("run", escape(finding.run.said)))
    rows += [("assumed", coded(one.text)) for one in finding.assumptions]
    for other in finding.related:
        if other.filename is not None:
            rows.append(
                ("see also", f"{escape(place_of(printable(other.filename), other.span))}: {coded(other.message)}")
            )
    url = report.url(finding.code)
    if url is not None:
        rows.append(("rule", f'<a href="{escape(url)}">{finding.code} {escape(finding.name)}</a>'))
    if rows:
        yield f"<dl>{''.join(f'<dt>{name}</dt><dd>{text}</dd>' for name, text in rows)}</dl>"


def _source(report: Report, finding: Finding) -> str:
    text = report.texts.get(finding.filename, "")
    if not text:
        return ""
    here = [Mark(other.span, on_one_line(other.message)) for other in finding.related if other.filename is None]
    return excerpt(shown_rows(text, finding), [Mark(finding.span, "", finding.severity), *here])


def _tape(drawing: Drawing) -> Iterator[str]:
    """Yield the picture; as text where no library lays it out, or where it would be too large."""
    yield f"<h3>The tape of {coded(f'`{title(drawing)}`')}</h3>"
    try:
        yield f'<div class="tape-picture" tabindex="0" role="group" aria-label="tape">{as_svg(drawing)}</div>'
    except (NoLayoutError, TooManyBoxesError):
        rows = "\n".join(escape(steerless(line)) for line in as_tree(drawing).splitlines())
        yield f'<pre tabindex="0" aria-label="tape"><code>{rows}</code></pre>'
