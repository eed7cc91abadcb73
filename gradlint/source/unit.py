"""Other files of the program under check: where a name is imported from, and what was read there."""

from __future__ import annotations

import re
from typing import Protocol

import libcst as cst

from gradlint.source.core import Code
from gradlint.source.lower import lower_module


class Unit:
    """A file of the program that was read: its syntax, its code, lowered once, and what a run has learnt of it.

    `loaded` is what the interpreter found on the top level, and `needs` the files it looked into for that;
    `ranges` are the places of the nodes. All three are kept for the files that come later in the same run.
    """

    __slots__ = ("_words", "code", "loaded", "module", "needs", "path", "ranges", "size", "text")

    def __init__(self, path: str, text: str, module: cst.Module) -> None:
        self.path = path
        self.text = text
        self.size = len(text)
        self.module = module
        self.code: Code = lower_module(module)
        self.loaded: object = None
        self.needs: frozenset[str] = frozenset()
        self.ranges: object = None
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """All words of the text: what is not among them is not bound there."""
        if self._words is None:
            self._words = frozenset(re.findall(r"\w+", self.text))
        return self._words


class OtherFiles(Protocol):
    """The files that a file may import, by the path of the file or, for a package without one, of its folder."""

    def find(self, importer: str, dotted: str, level: int) -> str | None:
        """Return the file of a module, as the importer names it; None where the project has none of that name."""

    def below(self, package: str, name: str) -> str | None:
        """Return the file of a module inside a package."""

    def unit(self, path: str) -> Unit | None:
        """Return the file, read and parsed; None where it cannot be."""
