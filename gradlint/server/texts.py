"""The texts of an editor: places of the protocol as places of gradlint and back, and changes.

The protocol counts rows and columns from 0, columns in code units of the encoding that both sides agree on; a row ends
as in Python, and not also at the form feeds and separators where `str.splitlines` ends one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from lsprotocol import types

from gradlint.domain.finding import Edit, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.fixes.edits import Text as Source
from gradlint.source.read import rows_and_ends, split_lines

_CODECS = {
    types.PositionEncodingKind.Utf8.value: ("utf-8", 1),
    types.PositionEncodingKind.Utf16.value: ("utf-16-le", 2),
    types.PositionEncodingKind.Utf32.value: ("utf-32-le", 4),
}
UTF16 = types.PositionEncodingKind.Utf16.value
"""What columns count where nothing else is agreed on."""


class Text(Frozen):
    """A text, and what its columns count."""

    text: str
    encoding: str = UTF16

    @cached_property
    def rows(self) -> list[str]:
        """The rows without their ends."""
        return split_lines(self.text)

    def range(self, span: Span) -> types.Range:
        """Return a stretch in the protocol's terms."""
        return types.Range(self.position(span.start), self.position(span.end))

    def position(self, at: Position) -> types.Position:
        """Return a place in the protocol's terms."""
        before = self._row(at.row)[: at.column - 1]
        if before.isascii():
            return types.Position(at.row - 1, len(before))
        name, size = _CODECS[self.encoding]
        return types.Position(at.row - 1, len(before.encode(name, "surrogatepass")) // size)

    def span(self, range: types.Range) -> Span:
        """Return a stretch in gradlint's terms."""
        return Span(self.at(range.start), self.at(range.end))

    def at(self, position: types.Position) -> Position:
        """Return a place in gradlint's terms; one beyond the end of its row, or of the text, is that end."""
        if position.line >= len(self.rows):
            return Position(len(self.rows), len(self.rows[-1]) + 1)
        row = self.rows[position.line]
        if not row.isascii():
            name, size = _CODECS[self.encoding]
            before = row.encode(name, "surrogatepass")[: position.character * size]
            return Position(position.line + 1, len(before.decode(name, "ignore")) + 1)
        return Position(position.line + 1, min(position.character, len(row)) + 1)

    def word(self, at: Position) -> str:
        """Return the name in which a place stands, or at whose end; empty for none."""
        row = self._row(at.row)
        start = end = at.column - 1
        while start > 0 and _is_of_name(row[start - 1]):
            start -= 1
        while end < len(row) and _is_of_name(row[end]):
            end += 1
        return row[start:end]

    def changed(self, change: types.TextDocumentContentChangeEvent) -> Text:
        """Return the text after a change, of a stretch or of all of it."""
        if not isinstance(change, types.TextDocumentContentChangePartial):
            return Text(change.text, self.encoding)
        start, end = Source(self.text).stretch(Edit(self.span(change.range), change.text))
        return Text(self.text[:start] + change.text + self.text[max(start, end) :], self.encoding)

    def rewritten(self, new: str) -> list[types.TextEdit]:
        """Return the edit that makes another text of this one: of those rows that differ."""
        if new == self.text:
            return []
        old, made = _whole_rows(self.text), _whole_rows(new)
        head, tail = alike(old, made)
        end = Position(len(old) - tail + 1, 1) if tail else Position(len(self.rows), len(self.rows[-1]) + 1)
        content = "".join(made[head : len(made) - tail])
        return [types.TextEdit(self.range(Span(Position(head + 1, 1), end)), content)]

    def _row(self, row: int) -> str:
        return self.rows[row - 1] if row <= len(self.rows) else ""


def _is_of_name(letter: str) -> bool:
    return letter == "_" or letter.isalnum()


def alike(one: Sequence[str], other: Sequence[str]) -> tuple[int, int]:
    """Return with how many equal rows both begin, and with how many of the others both end."""
    shorter = min(len(one), len(other))
    head = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    left = shorter - head
    return head, next((at for at in range(left) if one[-1 - at] != other[-1 - at]), left)


def _whole_rows(text: str) -> list[str]:
    return [row + end for row, end in zip(*rows_and_ends(text), strict=True)]
