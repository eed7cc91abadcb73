"""What is known of installed files, kept between runs: one JSON file for each version of a distribution.

An entry holds as long as the size and the time of its file. A cache that cannot be read counts as empty, and one that
cannot be written is left alone.
"""

from __future__ import annotations

import json
import os

from gradlint.source.environment.index import Index
from gradlint.source.kept import Kept

FORMAT = 2
"""To be raised when an index of the same text is another one than before."""

_PART = f"environment-{FORMAT}"
_LARGEST = 50_000_000
_LAST_ROW = 2_000_000
"""A file that is indexed has fewer bytes."""


class Cache:
    """The indices of installed files, among the files that are kept."""

    def __init__(self, files: Kept) -> None:
        self._files = files
        self._kept: dict[str, dict[str, object]] = {}
        self._changed: set[str] = set()

    def get(self, title: str, file: str) -> Index | None:
        """Return the index of a file as an earlier run left it."""
        entry = self._of(title).get(file)
        if not isinstance(entry, list) or entry[:1] != [stamp(file)]:
            return None
        try:
            _, names, stars = entry
            known = {str(name): [_rows(first, last) for first, last in rows] for name, rows in names.items()}
            return Index(known, [str(star) for star in stars])
        except (AttributeError, OverflowError, TypeError, ValueError):
            return None

    def put(self, title: str, file: str, index: Index) -> None:
        """Keep the index of a file."""
        self._of(title)[file] = [stamp(file), index.names, index.stars]
        self._changed.add(title)

    def _of(self, title: str) -> dict[str, object]:
        if title not in self._kept:
            self._kept[title] = self._load(title)
        return self._kept[title]

    def _load(self, title: str) -> dict[str, object]:
        try:
            found = json.loads(self._files.read(_PART, f"{title}.json", _LARGEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def save(self) -> None:
        """Write what is new."""
        for title in self._changed:
            self._files.write(_PART, f"{title}.json", json.dumps(self._kept[title]).encode())
        self._changed.clear()


def _rows(first: object, last: object) -> list[int]:
    """Return rows that a file can have."""
    if not (isinstance(first, int) and isinstance(last, int) and 0 < first <= last <= _LAST_ROW):
        raise ValueError(f"no rows: {first}, {last}")
    return [first, last]


def stamp(file: str) -> list[int] | None:
    """Return the size and the time of a file; None where there is none."""
    try:
        known = os.stat(file)
    except OSError:
        return None
    return [known.st_size, known.st_mtime_ns]
