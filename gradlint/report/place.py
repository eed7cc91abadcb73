"""Places as text: `file:row:column`, and `notebook:cell 3:row:column`; the cells of all kinds count, from 1."""

from __future__ import annotations

from gradlint.domain.finding import Span


def place_of(filename: str, span: Span, *, column: bool = True) -> str:
    """Return where a stretch begins, under the name of its file as it is to be shown."""
    cell = "" if span.cell is None else f"cell {span.cell}:"
    start = f"{span.start.row}:{span.start.column}" if column else f"{span.start.row}"
    return f"{filename}:{cell}{start}"
