"""Places as text: `file:row:column`; rows and columns count from 1, columns in characters."""

from __future__ import annotations

from gradlint.domain.finding import Span


def place_of(filename: str, span: Span, *, column: bool = True) -> str:
    """Return where a stretch begins, under the name of its file as it is to be shown."""
    return f"{filename}:{within(span, column=column)}"


def within(span: Span, *, column: bool = True) -> str:
    """Return where a stretch begins, for a reader who knows the file."""
    return f"{span.start.row}:{span.start.column}" if column else f"{span.start.row}"
