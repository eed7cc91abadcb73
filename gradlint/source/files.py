"""The files of one run, each read and parsed once while there is room for it."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import libcst as cst

from gradlint.domain.asked import Answer, Asked, Question
from gradlint.source.core import Code
from gradlint.source.environment.environment import Environment
from gradlint.source.layout import Layout
from gradlint.source.parse import parse
from gradlint.source.read import Unusable, decode, read_bytes


class Source:
    """The text of a file of the program, of which no more is known."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of the text: what is not among them is not bound there."""
        return frozenset(map(sys.intern, re.findall(r"\w+", self.text)))

    @cached_property
    def has_stars(self) -> bool:
        """Whether it may bind names that are not among its words."""
        return "import *" in self.text


class Unit(Source):
    """A file of the program that was parsed: its syntax, its code, lowered once, and what a run has learnt of it.

    `loaded` is what the interpreter found on the top level, `needs` the files it looked into for that, and `asked` all
    that was asked on the way; `height` is how long the longest chain is in which each file looks into the next, with
    this one; `fragment` is what its names stand
    for, `ranges` are the places of the nodes. All are kept for the files that come later in the same run. A statement
    of an `installed` file stands in its `file` after so many `rows`; nothing is reported there.
    """

    def __init__(self, path: str, text: str, module: cst.Module, installed: tuple[str, int] | None = None) -> None:
        from gradlint.source.lower import lower_module

        self.path = path
        self.file, self.rows = installed or (path, 0)
        self.installed = installed is not None
        super().__init__(text)
        self.module = module
        self.code: Code = lower_module(module)
        self.loaded: object = None
        self.needs: frozenset[str] = frozenset()
        self.asked: Mapping[Question, Answer] = {}
        self.height = 1
        self.fragment: object = None
        self.ranges: object = None


class Step(NamedTuple):
    """A file that a check looked into: what came of it, what was asked on the way, and which files were seen.

    `provisional` are results that serve that check alone, `room` is what was left for further files.
    """

    path: str
    loaded: Any
    asked: Mapping[Question, Answer]
    seen: Mapping[str, Unit]
    provisional: Mapping[str, Any]
    room: int


ROOM = 3_000_000
"""Characters of source whose syntax is kept: with what is known of them, some thirty bytes of memory for each."""

ROOM_OF_TEXTS = 4 * ROOM
"""Characters of source of which only the text is kept, at six bytes for each with its words."""

LONGEST = 300_000
"""A longer file is checked, but not read for the sake of others."""


class Files(Layout):
    """The store of files read: those that a file may import, by path, or, for a package without one, by its folder.

    Of what is installed in the `environment`, each statement counts as a file. The `way` is that of the last check
    through other files: one that looks into the same files in the same order comes to the same.
    """

    def __init__(
        self,
        environment: Environment | None = None,
        *,
        follow_links: bool = True,
        asked: Asked | None = None,
        held: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`held` are texts, by path, that count instead of what the files hold: an editor has them."""
        super().__init__(follow_links=follow_links)
        self._held = held
        self.environment = environment
        self.asked = asked or Asked()
        self._digests: dict[str, str | None] = {}
        self._units: dict[str, Unit | None] = {}
        self._sources: dict[str, Source | None] = {}
        self.way: list[Step] = []

    def unit(self, path: str) -> Unit | None:
        """Return the file at a path, read and parsed; None where it is a folder or cannot be read."""
        unit = self._units.pop(path) if path in self._units else self._read(path)
        self._units[path] = unit
        if unit is None or not unit.installed:
            self.asked.note(Question("text", path), self._digest(path, unit))
        return unit

    def source(self, path: str) -> Source | None:
        """Return a file of the program, which is not parsed for that; None where it cannot be read."""
        known = self._units.get(path)
        if known is None and path not in self._sources:
            self._sources[path] = _source(path, self._held.get(path))
        source = known or self._sources[path]
        self.asked.note(Question("text", path), self._digest(path, source))
        return source

    def find(self, importer: str, dotted: str, level: int) -> str | None:
        """Return the file of a module, as a layout does; what leads to torch is no question."""
        found = super().find(importer, dotted, level)
        if level or dotted.partition(".")[0] != "torch":
            # Only a file that adds to `sys.path` is another place than its folder.
            place = importer if self._added(importer) else os.path.join(os.path.dirname(importer), "")
            self.asked.note(Question("find", place, dotted, level), found)
        return found

    def below(self, package: str, name: str) -> str | None:
        """Return the file of a module inside a package."""
        found = super().below(package, name)
        self.asked.note(Question("below", package, name), found)
        return found

    def answer(self, question: Question) -> Answer:
        """Return what is answered now to a question that an earlier run has asked, but for what a file holds."""
        if question.kind == "find":
            return super().find(question.place, question.name, question.level)
        if question.kind == "below":
            return super().below(question.place, question.name)
        return None if self.environment is None else self.environment.answer(question)

    def _digest(self, path: str, source: Source | None) -> str | None:
        """Return the digest of what a file holds; of one that was changed since it was read, one that no file has.

        A document is no file that others import.
        """
        if path not in self._digests:
            content = _content(path)
            same = (
                source is None or not path.endswith(SUFFIX) or (content is not None and decode(content) == source.text)
            )
            self._digests[path] = digest_of(content) if same else CHANGED
        return self._digests[path]

    def _read(self, path: str) -> Unit | None:
        if self.environment is not None and self.environment.module(path) is not None:
            return _statement(path, self.environment)
        source = self.source(path)
        module = None if source is None else parse(source.text)
        if source is None or module is None or isinstance(module, Unusable):
            return None
        del self._sources[path]
        return Unit(path, source.text, module)

    def changed(self, path: str) -> None:
        """Drop what is known of a file that may hold something else now."""
        known = self._units.get(path)
        if known is None or known.text != self._held.get(path):
            self._units.pop(path, None)
            self._sources.pop(path, None)
            self._digests.pop(path, None)
            self._outdate(path)

    def own(self, path: str, text: str) -> Unit | Unusable:
        """Return the file that is checked, whose text is at hand, and drop what was not used for long."""
        self._make_room()
        known = self._units.get(path) or self._sources.get(path)
        if isinstance(known, Unit) and known.text == text:
            return known
        module = parse(text)
        if isinstance(module, Unusable):
            return module
        unit = Unit(path, text, module)
        if path and len(text) <= LONGEST:
            if path in self._digests if known is None else known.text != text:
                self._outdate(path)
            self._units[path] = unit
            self._sources.pop(path, None)
        return unit

    def _make_room(self) -> None:
        """Drop the files used least recently, and what was learnt of others through them."""
        used = sum(len(unit.text) for unit in self._units.values() if unit is not None)
        gone: set[str] = set()
        for path, unit in list(self._units.items()):
            if used <= ROOM:
                break
            gone.add(path)
            del self._units[path]
            if unit is not None:
                used -= len(unit.text)
                self._sources |= {} if unit.installed else {path: Source(unit.text)}
        if gone:
            self._forget(lambda needs, asked: not gone.isdisjoint(needs))
        if sum(len(source.text) for source in self._sources.values() if source is not None) > ROOM_OF_TEXTS:
            self._sources.clear()

    def _outdate(self, path: str) -> None:
        """Drop what was learnt of others from the text that a file had."""
        question = Question("text", path)
        self._forget(lambda needs, asked: question in asked)

    def _forget(self, rests: Callable[[Iterable[str], Container[Question]], bool]) -> None:
        """Drop what was learnt of others, if it rests on what is not there any more."""
        for unit in self._units.values():
            if unit is not None and rests(unit.needs, unit.asked):
                unit.loaded, unit.needs, unit.asked = None, frozenset(), {}
        valid = takewhile(lambda step: not rests(step.seen.keys(), step.asked), self.way)
        self.way = list(valid)


CHANGED = "changed"
SUFFIX = ".py"


def digest_of(content: bytes | None) -> str | None:
    """Return what tells a content from others; None for none."""
    return None if content is None else blake2b(content, digest_size=16).hexdigest()


def _content(path: str) -> bytes | None:
    content = read_bytes(Path(path), LONGEST) if path.endswith(SUFFIX) else None
    return content if isinstance(content, bytes) else None


def _source(path: str, held: str | None) -> Source | None:
    content = _content(path) if held is None else None
    text = held if content is None else decode(content)
    return Source(text) if isinstance(text, str) else None


def _statement(path: str, environment: Environment) -> Unit | None:
    found = environment.statement(path)
    if found is None:
        return None
    file, text, rows = found
    module = parse(text)
    return None if isinstance(module, Unusable) else Unit(path, text, module, (file, rows))
