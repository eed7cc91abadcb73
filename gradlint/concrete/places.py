"""Where a running program stands: the innermost line of the user's own code, taken from the frames.

A place is a code object and an offset in it. Python 3.11 and later know the columns of each instruction, so a place
leads to one expression of the source; before, it leads to the statement of its line.
"""

from __future__ import annotations

import ast
import linecache
import sysconfig
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType
from typing import NamedTuple

_SELF = str(Path(__file__).parents[1])
_INSTALLED = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")} | {_SELF})
_PACKAGES = ("/site-packages/", "/dist-packages/", "\\site-packages\\")


class Place(NamedTuple):
    """An instruction of a code object."""

    code: CodeType
    at: int

    @property
    def key(self) -> tuple[int, int]:
        """Return what tells places apart: code objects are compared by their contents, which takes long."""
        return id(self.code), self.at

    @property
    def filename(self) -> str:
        """Return the file of the code."""
        return self.code.co_filename

    @property
    def row(self) -> int:
        """Return the row where the instruction stands."""
        return self.range[0]

    @property
    def range(self) -> tuple[int, int | None, int | None, int | None]:
        """Return the first and the last row, and the columns in bytes from 0, as far as they are known."""
        positions = getattr(self.code, "co_positions", None)
        if positions is not None:
            row, end, start, stop = next(islice(positions(), self.at // 2, None), (None,) * 4)
            if row is not None:
                return row, end, start, stop
        rows = [row for first, last, row in self.code.co_lines() if row and first <= self.at < last]
        return (rows or [self.code.co_firstlineno])[0], None, None, None

    @property
    def text(self) -> bytes | None:
        """Return the expression that stands here, as it is written; None if columns are not known."""
        row, end, start, stop = self.range
        rows = [linecache.getline(self.filename, one).encode() for one in range(row, (end or row) + 1)]
        if start is None or stop is None or not rows:
            return None
        rows[-1] = rows[-1][:stop]
        rows[0] = rows[0][start:]
        return b"".join(rows)

    @property
    def call(self) -> ast.Call | None:
        """Return the call that stands here, as it is written; None if there is none, or columns are not known."""
        try:
            found = ast.parse(b"(" + (self.text or b"") + b")", mode="eval").body
        except (SyntaxError, ValueError):
            return None
        return found if isinstance(found, ast.Call) else None

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}"


class Spot(NamedTuple):
    """A place that is known by its rows and columns alone, in bytes from 0."""

    filename: str
    range: tuple[int, int | None, int | None, int | None]

    @property
    def key(self) -> tuple[int, int]:
        """Return what tells it from others."""
        return hash(self.filename), hash(self.range)

    @property
    def row(self) -> int:
        """Return the row where it stands."""
        return self.range[0]

    def __str__(self) -> str:
        return f"{self.filename}:{self.row}"


class Line(NamedTuple):
    """A row of a file, which is named by its whole path."""

    filename: str
    row: int


class Places:
    """Tells the user's code from that of Python, torch and other packages."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        self._places: dict[tuple[int, int], Place] = {}
        self.indirect: set[tuple[int, int]] = set()
        """The keys of places that were met first by way of a package: what is called there is not torch itself."""

    def of(self, frame: FrameType | None) -> Place | None:
        """Return the innermost place of the user's code from a frame outwards."""
        known, first = self._known, frame
        while frame is not None:
            code = frame.f_code
            name = code.co_filename
            if name not in known:
                known[name] = self.is_own(name)
            if known[name]:
                key = id(code), frame.f_lasti
                place = self._places.get(key)
                if place is None:
                    place = self._places[key] = Place(code, frame.f_lasti)
                    if frame is not first:
                        self.indirect.add(key)
                return place
            frame = frame.f_back
        return None

    @property
    def visited(self) -> Iterable[Place]:
        """Return the places that were asked about; that they are kept is why the address of a code tells it apart."""
        return self._places.values()

    @staticmethod
    def is_own(name: str) -> bool:
        """Return whether a file is the user's. A text that stands in no file is, where a notebook runs it."""
        if name.startswith("<"):
            return name.startswith("<ipython-input")
        return not name.startswith(_INSTALLED) and not any(one in name for one in _PACKAGES)
