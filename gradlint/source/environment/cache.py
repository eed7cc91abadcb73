"""What is known of installed files, kept between runs: one JSON file for each version of a distribution.

An entry holds as long as the size and the time of its file. A cache that cannot be read counts as empty, and one that
cannot be written is left alone.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

from gradlint.source.environment.index import Index
from gradlint.source.regular import content_of

FOLDER = ".gradlint_cache"
FORMAT = 2
"""To be raised when an index of the same text is another one than before."""

_LARGEST = 50_000_000
_LAST_ROW = 2_000_000
"""A file that is indexed has fewer bytes."""


class Cache:
    """The indices of installed files, below a folder; without one, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._kept: dict[str, dict[str, object]] = {}
        self._changed: set[str] = set()

    def get(self, title: str, file: str) -> Index | None:
        """Return the index of a file as an earlier run left it."""
        entry = self._of(title).get(file)
        if not isinstance(entry, list) or entry[:1] != [_stamp(file)]:
            return None
        try:
            _, names, stars = entry
            known = {str(name): [_rows(first, last) for first, last in rows] for name, rows in names.items()}
            return Index(known, [str(star) for star in stars])
        except (AttributeError, OverflowError, TypeError, ValueError):
            return None

    def put(self, title: str, file: str, index: Index) -> None:
        """Keep the index of a file."""
        self._of(title)[file] = [_stamp(file), index.names, index.stars]
        self._changed.add(title)

    def _of(self, title: str) -> dict[str, object]:
        if title not in self._kept:
            self._kept[title] = self._load(title)
        return self._kept[title]

    def _load(self, title: str) -> dict[str, object]:
        folder = self._place(make=False)
        try:
            content = b"{}" if folder is None else content_of(folder / f"{title}.json", _LARGEST, follow=False)
            found = json.loads(content)
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}

    def _place(self, *, make: bool) -> Path | None:
        """Return the directory of the files, made where it is missing.

        Whoever wrote the tree may have put a link there, so that what is written would go elsewhere.
        """
        if self._folder is None:
            return None
        cache = self._folder / FOLDER
        for folder in (cache, cache / f"environment-{FORMAT}"):
            if make:
                folder.mkdir(mode=0o700, exist_ok=True)
            if os.path.islink(folder):
                return None
        if make and not os.path.lexists(cache / ".gitignore"):
            _write(cache / ".gitignore", "*\n")
        return folder

    def save(self) -> None:
        """Write what is new; another run may write the same at the same time."""
        try:
            folder = self._place(make=True) if self._changed else None
            if folder is not None:
                for title in self._changed:
                    _write(folder / f"{title}.json", json.dumps(self._kept[title]))
        except OSError:
            pass  # A directory that may not be written, or a full disk: the next run reads the packages again.
        self._changed.clear()


def _write(path: Path, text: str) -> None:
    """Write a file whole, for its owner alone, in the place of whatever stands there."""
    handle, made = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise


def _rows(first: object, last: object) -> list[int]:
    """Return rows that a file can have."""
    if not (isinstance(first, int) and isinstance(last, int) and 0 < first <= last <= _LAST_ROW):
        raise ValueError(f"no rows: {first}, {last}")
    return [first, last]


def _stamp(file: str) -> list[int] | None:
    try:
        known = os.stat(file)
    except OSError:
        return None
    return [known.st_size, known.st_mtime_ns]
