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

FOLDER = ".gradlint_cache"
FORMAT = 2
"""To be raised when an index of the same text is another one than before."""


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
            known = {str(name): [[int(first), int(last)] for first, last in rows] for name, rows in names.items()}
            return Index(known, [str(star) for star in stars])
        except (AttributeError, TypeError, ValueError):
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
        try:
            found = json.loads(self._path(title).read_bytes()) if self._folder is not None else {}
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _path(self, title: str) -> Path:
        assert self._folder is not None
        return self._folder / FOLDER / f"environment-{FORMAT}" / f"{title}.json"

    def save(self) -> None:
        """Write what is new; another run may write the same at the same time."""
        if self._folder is None:
            return
        for title in self._changed:
            path = self._path(title)
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                (path.parent.parent / ".gitignore").write_text("*\n", encoding="utf-8")
                handle, made = tempfile.mkstemp(dir=path.parent)
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    json.dump(self._kept[title], file)
                os.replace(made, path)
            except OSError:
                break
        self._changed.clear()


def _stamp(file: str) -> list[int] | None:
    try:
        known = os.stat(file)
    except OSError:
        return None
    return [known.st_size, known.st_mtime_ns]
