"""The rows of a source around the places that a finding speaks of, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from gradlint.report.frame import Mark
from gradlint.report.printable import steerless

CONTEXT = 2
"""How many rows stand before and after each marked one."""

WIDEST = 400
"""Rows are cut there: a generated line of thousands of characters would hide the others."""

TAB = " " * 4


def excerpt(lines: Sequence[str], marks: Sequence[Mark]) -> str:
    """Return the rows around the marks, each with what its marks say beside it; gaps show as dots."""
    marked = {min(mark.span.start.row, len(lines)) for mark in marks}
    rows = sorted({near for row in marked for near in _around(row, len(lines))})
    width = len(str(rows[-1]))
    text = ""
    for before, row in zip([rows[0] - 1, *rows[:-1]], rows, strict=True):
        if row - before > 1:
            text += '<span class="gap">...</span>'
        here = [mark for mark in marks if min(mark.span.start.row, len(lines)) == row]
        text += _row(row, lines[row - 1], here, width)
    return f'<pre class="source" tabindex="0" aria-label="source"><code>{text}</code></pre>'


def _around(row: int, last: int) -> range:
    return range(max(1, row - CONTEXT), min(last, row + CONTEXT) + 1)


def _row(row: int, line: str, marks: Sequence[Mark], width: int) -> str:
    number = f'<span class="number">{row:{width}}</span>'
    notes = "".join(f'<span class="note">{escape(mark.text)}</span>' for mark in marks if mark.text)
    kind = next((mark.severity for mark in marks if mark.severity), "related") if marks else ""
    text = _marked(line[:WIDEST], row, marks) + ("..." if len(line) > WIDEST else "")
    return f'<span class="row {kind}">{number} {text}{notes}</span>'


def _marked(line: str, row: int, marks: Sequence[Mark]) -> str:
    """Return the row with its spans marked; of those that overlap the first, the finding's own before the others."""
    spans: list[tuple[int, int, str]] = []
    for mark in sorted(marks, key=lambda mark: mark.severity is None):
        start = min(mark.span.start.column - 1, len(line))
        end = min(mark.span.end.column - 1, len(line)) if mark.span.end.row == row else len(line)
        if start < end and all(end <= other or to <= start for other, to, _ in spans):
            spans.append((start, end, mark.severity or "related"))
    text, at = "", 0
    for start, end, kind in sorted(spans):
        text += f'{_shown(line[at:start])}<mark class="{kind}">{_shown(line[start:end])}</mark>'
        at = end
    return text + _shown(line[at:])


def _shown(text: str) -> str:
    return escape(steerless(text.replace("\t", TAB)))
