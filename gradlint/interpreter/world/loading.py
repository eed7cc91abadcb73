"""Other files of the program: each is run once, when the first name is asked of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from gradlint.domain.graph import ancient
from gradlint.domain.state import Frame
from gradlint.domain.value import Record
from gradlint.source.files import Files, Unit

UNITS = 48
"""How many other files one file may look into."""

CHAIN = 10
"""How long a chain of files may be in which the top level of each looks into the next."""


class Loaded(NamedTuple):
    """What a file's top level leaves: its frame, and the frames and heap that it needs."""

    frame: int
    frames: dict[int, Frame]
    heap: dict[int, Record]


class Loading:
    """The files that one checked file looks into, and those whose top level is being run just now, by `run`.

    `provisional` holds what depends on the way it was reached: files of a circle, and files that look into these.
    """

    def __init__(self, other_files: Files, run: Callable[[Unit, Loading], Loaded]) -> None:
        self.other_files = other_files
        self.run = run
        self.running: list[str] = []
        self.needs: list[set[str]] = []
        self.on_the_way: list[bool] = []
        self.provisional: dict[str, Loaded] = {}
        self.seen: dict[str, Unit] = {}

    def units(self) -> tuple[Unit, ...]:
        """Return the files that were looked into."""
        return tuple(self.seen.values())

    def load(self, path: str) -> Loaded | None:
        """Return what the file leaves; None for a file that cannot be read, or is being run already."""
        if path in self.running or len(self.running) >= CHAIN:
            first = self.running.index(path) if path in self.running else 0
            self.on_the_way[first:] = [True] * (len(self.running) - first)
            return None
        unit = self.other_files.unit(path)
        for needs in self.needs:
            needs.add(path)
        if unit is None:
            return None
        self.seen[path] = unit
        if path in self.provisional:
            self.on_the_way = [True] * len(self.running)
            return self.provisional[path]
        if not isinstance(unit.loaded, Loaded):
            return self._run(unit)
        for needs in self.needs:
            needs |= unit.needs
        for needed in unit.needs:
            inner = self.other_files.unit(needed)
            if inner is not None:
                self.seen[needed] = inner
        return unit.loaded

    def _run(self, unit: Unit) -> Loaded:
        self.running.append(unit.path)
        self.needs.append(set())
        self.on_the_way.append(False)
        with ancient():
            loaded = self.run(unit, self)
        self.running.pop()
        needs = self.needs.pop()
        if self.on_the_way.pop():
            self.provisional[unit.path] = loaded
            self.on_the_way = [True] * len(self.running)
        else:
            unit.loaded, unit.needs = loaded, frozenset(needs)
        return loaded


def binds(unit: Unit, name: str, *, builtin: bool) -> bool:
    """Return whether a file may bind a name at its top level; cheap, and a guess on the side of yes."""
    if name not in unit.words:
        return not builtin and "import *" in unit.text
    stated = rf"^(?:(?:async )?def |class )?{name}\b *[(:=]"
    return not builtin or re.search(stated, unit.text, re.MULTILINE) is not None
