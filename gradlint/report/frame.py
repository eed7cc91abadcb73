"""Draw rows of source with marks under them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from gradlint.domain.finding import Severity, Span
from gradlint.report.paint import Paint

TAB = 4
WIDEST = 160
"""Rows are cut there: a generated line of thousands of characters would hide the others."""


@dataclass(frozen=True)
class Mark:
    """A span to underline and what to say beside it; only the finding itself has a severity."""

    span: Span
    text: str
    severity: Severity | None = None


def draw(lines: Sequence[str], marks: Sequence[Mark], paint: Paint) -> list[str]:
    """Return the marked rows in order, each with its marks below; a gap of more than one row shows as dots."""
    rows = sorted({min(mark.span.start.row, len(lines)) for mark in marks})
    width = len(str(rows[-1]))
    bar = paint.faint(f"{'':{width}} |")
    drawn = [bar]
    previous = rows[0]
    for row in rows:
        if row - previous == 2:
            drawn.append(_numbered(row - 1, lines, width, paint))
        elif row - previous > 2:
            drawn.append(paint.faint("..."))
        drawn.append(_numbered(row, lines, width, paint))
        here = (mark for mark in marks if min(mark.span.start.row, len(lines)) == row)
        for mark in sorted(here, key=lambda mark: mark.severity is None):
            drawn.append(f"{bar} {_underline(mark, lines[row - 1], paint)}")
        previous = row
    return drawn


def _numbered(row: int, lines: Sequence[str], width: int, paint: Paint) -> str:
    text = _shown(lines[row - 1])
    cut = text if len(text) <= WIDEST else text[: WIDEST - 3] + "..."
    return f"{paint.faint(f'{row:{width}} |')} {cut}".rstrip()


def _underline(mark: Mark, line: str, paint: Paint) -> str:
    """Carets under the finding, dashes under what explains it; of several rows only the first is marked."""
    start = min(mark.span.start.column - 1, len(line))
    one_row = mark.span.end.row == mark.span.start.row
    end = min(mark.span.end.column - 1, len(line)) if one_row else len(line.rstrip())
    left = min(_width(line[:start]), WIDEST)
    length = max(1, min(_width(line[:end]), WIDEST) - left)
    if mark.severity is None:
        return f"{' ' * left}{paint.faint('-' * length)} {paint.faint(mark.text)}".rstrip()
    return f"{' ' * left}{paint.as_severity('^' * length, mark.severity)} {mark.text}".rstrip()


def _shown(line: str) -> str:
    """Return the row as it may go to a terminal: tabs as spaces, and no control character that could steer it."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line.expandtabs(TAB))


def _width(text: str) -> int:
    """Return the columns on a terminal: tabs as they are shown, East Asian wide characters double, accents nothing."""
    shown = [char for char in text.replace("\t", " " * TAB) if not unicodedata.combining(char)]
    return len(shown) + sum(unicodedata.east_asian_width(char) in "WF" for char in shown)
