"""Places as text: `file:row:column`, and `notebook:cell 3:row:column`.

Cells of all kinds, rows, and columns count from 1; columns are characters."""

from __future__ import annotations

from gradlint.domain.finding import Span


def place_of(filename: str, span: Span, *, column: bool = True) -> str:
    """Return where a stretch begins, under the name of its file as it is to be shown."""
    return f"{filename}:{within(span, column=column)}"


def within(span: Span, *, column: bool = True) -> str:
    """Return where a stretch begins, for a reader who knows the file."""
    cell = "" if span.cell is None else f"cell {span.cell}:"
    return f"{cell}{span.start.row}:{span.start.column}" if column else f"{cell}{span.start.row}"
