"""Pieces of a document joined to one program, and places of the program in the document and back."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from gradlint.domain.finding import Fix, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.source.documents.stand_ins import StandIns
from gradlint.source.read import split_lines


class Piece(Frozen):
    """The Python text of a cell or block, row by row as in the document.

    `number` says which of the document's. Its rows are those of a `cell`, or else begin at a `row` of the document,
    each after `shift` letters.
    """

    text: str
    number: int
    cell: int | None = None
    row: int = 1
    shift: int = 0

    def outward(self, span: Span, above: int = 0) -> Span:
        """Return where a stretch of the piece stands in the document, if it has so many rows above the piece."""
        return self._moved(span, self.row - 1 - above, self.shift, self.cell)

    def inward(self, span: Span, above: int) -> Span:
        """Return where a stretch of the document stands in a text that has so many rows above the piece."""
        return self._moved(span, above + 1 - self.row, -self.shift, None)

    def _moved(self, span: Span, rows: int, columns: int, cell: int | None) -> Span:
        start, end = (Position(max(at.row + rows, 1), max(at.column + columns, 1)) for at in (span.start, span.end))
        return Span(start, end, cell)

    def covers(self, span: Span) -> bool:
        """Return whether a stretch of the document begins in this piece."""
        inside = self.row <= span.start.row < self.row + len(split_lines(self.text))
        return inside if self.cell is None else self.cell == span.cell


class Program(Frozen):
    """The pieces one after the other, each after a comment that says which it is; `starts` are their first rows."""

    text: str
    pieces: tuple[Piece, ...]
    starts: tuple[int, ...]
    stand_ins: StandIns

    @classmethod
    def of(cls, pieces: Iterable[Piece], stand_ins: StandIns) -> Program:
        """Join pieces."""
        pieces, texts, starts, rows = tuple(pieces), [], [], 0
        for piece in pieces:
            texts.append(f"{stand_ins.header(piece.number, piece.text)}\n{piece.text}\n")
            starts.append(rows + 2)
            rows += len(split_lines(texts[-1])) - 1
        return cls("".join(texts), pieces, tuple(starts), stand_ins)

    def outward(self, span: Span, index: int | None = None) -> Span:
        """Return a stretch of the program where it stands in the document; `index` says in which piece, if known."""
        index = self._index(span.start.row) if index is None else index
        return self.pieces[index].outward(span, self.starts[index] - 1)

    def inward(self, span: Span) -> Span | None:
        """Return a stretch of the document where it stands in the program; None if that is in another program."""
        pairs = zip(self.pieces, self.starts, strict=True)
        return next((piece.inward(span, start - 1) for piece, start in pairs if piece.covers(span)), None)

    def holder(self, fix: Fix, text: str) -> int | None:
        """Return the index of the piece in which a fix of the program, as it is by now, stays; None if in several."""
        headers = self.stand_ins.headers(text)
        holders = set()
        for place in (place for edit in fix.edits for place in (edit.span.start, edit.span.end)):
            # What takes a last row away ends where the next piece begins, and what is put after it begins there.
            row = place.row - (place.column == 1 and _has(headers, place.row))
            holders.add(-1 if _has(headers, row) else bisect_right(headers, row) - 1)
        index = holders.pop()
        return None if holders or index < 0 else index

    def _index(self, row: int) -> int:
        """Return which piece a row belongs to; the comment before a piece belongs to that."""
        return max(bisect_right(self.starts, row + 1) - 1, 0)


def _has(rows: Sequence[int], row: int) -> bool:
    at = bisect_left(rows, row)
    return at < len(rows) and rows[at] == row


def joined_again(stand_ins: StandIns, texts: Iterable[str]) -> dict[int, str]:
    """Return what the document has now in each piece of programs that were changed."""
    return {number: piece for text in texts for number, piece in stand_ins.pieces(text)}
