"""What stands in a program for what is no Python, so that it can be put back."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

from gradlint.source.read import rows_and_ends, split_lines

TAB = "\t"
_ABOVE = "if 1:  "
_NUMBERS = re.compile(r"gradlint_row_([0-9]{1,9})")
"""What no document holds of all numbers of nine digits."""


@dataclass
class StandIns:
    """The rows that were changed to make a program of a document; each bears a comment with its number.

    The `word` of these comments stands nowhere in the document itself.
    """

    word: str
    _changes: list[tuple[str, str]] = field(default_factory=list)

    @classmethod
    def for_document(cls, text: str) -> StandIns:
        """Choose a word that the text does not have."""
        taken = {number[:end] for number in _NUMBERS.findall(text) for end in range(1, len(number) + 1)}
        return cls(f"gradlint_row_{next(number for number in count() if str(number) not in taken)}")

    def header(self, number: int, text: str = "") -> str:
        """Return the comment that stands before the piece of this number.

        IPython takes a cell that is indented as a whole; such a text stands below an `if`, so that its columns stay.
        """
        first = next((row for row in split_lines(text) if row.strip() and not row.lstrip().startswith("#")), "")
        return f"{_ABOVE if first.startswith((' ', TAB)) else ''}{self._beginning}{number}"

    def headers(self, text: str) -> tuple[int, ...]:
        """Return the rows of a program that stand before pieces."""
        return _headers(self._beginning, text)

    @property
    def _beginning(self) -> str:
        return f"# {self.word} begins "

    def put(self, before: str, original: str, stand_in: str, after: str = "") -> str:
        """Return a row that has something else in the place of `original`."""
        self._changes.append((original, stand_in))
        return f"{before}{stand_in}{after}  # {self.word} {len(self._changes) - 1}"

    def pieces(self, text: str) -> list[tuple[int, str]]:
        """Return each piece that a program consists of by its number, with what stood in it at first."""
        parts = re.split(rf"^(?:{_ABOVE})?{self._beginning}(\d+)\n", text, flags=re.MULTILINE)[1:]
        return [(int(number), self._restored(piece)) for number, piece in zip(parts[::2], parts[1::2], strict=True)]

    def _restored(self, piece: str) -> str:
        """Return a piece without what was put into it; the row end that follows each is no part of it."""
        rows, ends = rows_and_ends(piece.removesuffix("\n"))
        return "".join(self._row(row) + end for row, end in zip(rows, ends, strict=True))

    def _row(self, row: str) -> str:
        row, comment, number = row.partition(f"  # {self.word} ")
        if not comment:
            return row
        original, stand_in = self._changes[int(number)]
        return row.replace(stand_in, original, 1) if stand_in else row + original


@lru_cache(maxsize=4)
def _headers(beginning: str, text: str) -> tuple[int, ...]:
    """Return the rows that begin so; it is asked for every fix of a program."""
    rows = enumerate(split_lines(text), start=1)
    return tuple(number for number, row in rows if row.removeprefix(_ABOVE).startswith(beginning))
