"""The files of one run, each read and parsed once while there is room for it."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path

import libcst as cst

from gradlint.source.core import Code
from gradlint.source.environment.environment import Environment
from gradlint.source.layout import Layout
from gradlint.source.lower import lower_module
from gradlint.source.parse import parse
from gradlint.source.read import Unusable, decode, read_bytes


class Unit:
    """A file of the program that was read: its syntax, its code, lowered once, and what a run has learnt of it.

    `loaded` is what the interpreter found on the top level, `needs` the files it looked into for that, and `height` how
    long the longest chain is in which each file looks into the next, with this one; `fragment` is what its names stand
    for, `ranges` are the places of the nodes. All are kept for the files that come later in the same run. A statement
    of an `installed` file stands in its `file` after so many `rows`; nothing is reported there.
    """

    def __init__(self, path: str, text: str, module: cst.Module, installed: tuple[str, int] | None = None) -> None:
        self.path = path
        self.file, self.rows = installed or (path, 0)
        self.installed = installed is not None
        self.text = text
        self.module = module
        self.code: Code = lower_module(module)
        self.loaded: object = None
        self.needs: frozenset[str] = frozenset()
        self.height = 1
        self.fragment: object = None
        self.ranges: object = None

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of the text: what is not among them is not bound there."""
        return frozenset(re.findall(r"\w+", self.text))


ROOM = 6_000_000
"""Characters of source whose syntax is kept: with what is known of them, some thirty bytes of memory for each."""

LONGEST = 300_000
"""A longer file is checked, but not read for the sake of others."""


class Files(Layout):
    """The store of files read: those that a file may import, by path, or, for a package without one, by its folder.

    Of what is installed in the `environment`, each statement counts as a file.
    """

    def __init__(self, environment: Environment | None = None, *, follow_links: bool = True) -> None:
        super().__init__(follow_links=follow_links)
        self.environment = environment
        self._units: dict[str, Unit | None] = {}

    def unit(self, path: str) -> Unit | None:
        """Return the file at a path, read and parsed; None where it is a folder or cannot be read."""
        unit = self._units.pop(path) if path in self._units else self._read(path)
        self._units[path] = unit
        return unit

    def _read(self, path: str) -> Unit | None:
        if self.environment is not None and self.environment.module(path) is not None:
            return _statement(path, self.environment)
        return _read(path)

    def own(self, path: str, text: str) -> Unit | Unusable:
        """Return the file that is checked, whose text is at hand, and drop what was not used for long."""
        self._make_room()
        known = self._units.get(path)
        if known is not None and known.text == text:
            return known
        module = parse(text)
        if isinstance(module, Unusable):
            return module
        unit = Unit(path, text, module)
        if path and len(text) <= LONGEST:
            if known is not None:
                self._forget({path})
            self._units[path] = unit
        return unit

    def _make_room(self) -> None:
        """Drop the files used least recently, and what was learnt of others through them."""
        used = sum(len(unit.text) for unit in self._units.values() if unit is not None)
        gone: set[str] = set()
        for path, unit in list(self._units.items()):
            if used <= ROOM:
                break
            used -= 0 if unit is None else len(unit.text)
            gone.add(path)
            del self._units[path]
        self._forget(gone)

    def _forget(self, gone: set[str]) -> None:
        """Drop what was learnt of others through some files."""
        for unit in self._units.values():
            if unit is not None and not gone.isdisjoint(unit.needs):
                unit.loaded, unit.needs = None, frozenset()


def _read(path: str) -> Unit | None:
    content = read_bytes(Path(path), LONGEST) if path.endswith(".py") else None
    text = decode(content) if isinstance(content, bytes) else None
    if not isinstance(text, str):
        return None
    module = parse(text)
    return None if isinstance(module, Unusable) else Unit(path, text, module)


def _statement(path: str, environment: Environment) -> Unit | None:
    found = environment.statement(path)
    if found is None:
        return None
    file, text, rows = found
    module = parse(text)
    return None if isinstance(module, Unusable) else Unit(path, text, module, (file, rows))
