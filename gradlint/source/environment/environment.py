"""The Python environment of a project, read as source: which statement of which installed file binds a name.

Nothing of it is imported or run. Of an installed file only the statements that somebody asks for are parsed by libcst:
an index says which rows bind which name. So a statement is a file of its own here, whose path ends with its rows:
`lib/losses.py:12-30`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

from gradlint.domain.asked import Answer, Asked, Question
from gradlint.domain.release import Release
from gradlint.source.environment.cache import Cache, stamp
from gradlint.source.environment.distribution import Distribution, distribution_of, version_of
from gradlint.source.environment.index import EMPTY, Index, Unread, index_of
from gradlint.source.layout import INIT
from gradlint.source.read import decode, read_bytes, split_lines

LARGEST = 2_000_000
"""A longer file, in bytes, is not read."""

LONGEST = 20_000
"""A statement with more characters is not parsed."""

STARS = 20
"""How many files are searched for one name because others import all names of them."""

UNREAD = frozenset({"torch", "functorch", "gradlint"}) | sys.stdlib_module_names
"""What gradlint knows itself, or what Python brings."""


class Place(NamedTuple):
    """The statement that binds a name, as a path of its own."""

    path: str
    name: str


class Statement(NamedTuple):
    """A statement of a module: its file, and its rows; a name may be bound by several."""

    module: str
    file: str
    rows: tuple[tuple[int, int], ...]


class Environment:
    """The packages installed in some folders, and what of them was read.

    `problems` are the packages of which a file is asked for that cannot be read, with the reason.
    """

    def __init__(self, folders: Sequence[str], cache: Cache, asked: Asked | None = None) -> None:
        self.folders = tuple(folders)
        self._cache = cache
        self._asked = asked or Asked()
        self._statements: dict[str, Statement] = {}
        self._places: dict[str, tuple[Place | None, Mapping[Question, Answer]]] = {}
        self._packages: dict[str, tuple[bool, Mapping[Question, Answer]]] = {}
        self._indices: dict[str, Index] = {}
        self._files: dict[str, str | None] = {}
        self._text = lru_cache(16)(_read)
        self.problems: dict[str, str] = {}

    @cached_property
    def torch(self) -> Release | None:
        """The release of torch that is installed, where it is one that was released."""
        return Release.of(version_of(self.folders, "torch") or "")

    def reads(self, dotted: str) -> bool:
        """Return whether a name is one of an installed package that may use torch, and is not torch itself."""
        package = dotted.partition(".")[0]
        return package not in UNREAD and self._asked.once(self._packages, package, lambda: self._may_use_torch(package))

    def find(self, dotted: str) -> Place | None:
        """Return the statement that binds a dotted name; None for a module, and for what is not found."""
        return self._asked.once(self._places, dotted, lambda: self._find(dotted, set()))

    def module(self, path: str) -> str | None:
        """Return the dotted name of the module in which a statement stands; None for a file of the project."""
        statement = self._statements.get(path)
        return None if statement is None else statement.module

    def absolute(self, importer: str, dotted: str, level: int) -> str:
        """Return what a module is called that a statement imports with `level` dots before its name."""
        statement = self._statements[importer]
        return _absolute(statement.module, statement.file, dotted, level)

    def statement(self, path: str) -> tuple[str, str, int] | None:
        """Return the file of a statement, its text, and how many rows stand before it; None if it is too long."""
        statement = self._statements[path]
        text = self._text_of(statement.file)
        lines = split_lines(text) if isinstance(text, str) else []
        first = row = statement.rows[0][0]
        parts: list[str] = []
        for begin, end in statement.rows:
            parts += [""] * (begin - row) + lines[begin - 1 : end]
            row = end + 1
        found = dedent("\n".join(parts) + "\n")
        return None if len(found) > LONGEST else (statement.file, found, first - 1)

    def save(self) -> None:
        """Write what was learnt to the cache."""
        self._cache.save()

    def _may_use_torch(self, package: str) -> bool:
        file = self._file(package)
        if file is None:
            return False
        text, owner = self._text_of(file), self._owner(package)
        return owner.requires_torch or not owner.metadata or (isinstance(text, str) and "torch" in text)

    def answer(self, question: Question) -> Answer:
        """Return what is answered now to a question that an earlier run has asked of it."""
        if question.kind == "module":
            return self._file(question.place)
        if question.kind == "stamp":
            return str(stamp(question.place))
        if question.kind == "owner":
            return str(self._owner(question.place))
        return None

    def _text_of(self, file: str) -> str | Unread:
        self._asked.note(Question("stamp", file), str(stamp(file)))
        return self._text(file)

    def _owner(self, package: str) -> Distribution:
        file = self._file(package) or ""
        folder = os.path.dirname(file)
        owner = distribution_of(os.path.dirname(folder) if os.path.basename(file) == INIT else folder, package)
        self._asked.note(Question("owner", package), str(owner))
        return owner

    def _find(self, dotted: str, searched: set[str]) -> Place | None:
        module, _, rest = dotted.partition(".")
        while rest:
            name, _, further = rest.partition(".")
            below = f"{module}.{name}"
            is_module = self._file(below) is not None
            if not (further and is_module):
                found = self._bound(module, name, searched)
                if found is not None or not is_module:
                    return None if further else found
            module, rest = below, further
        return None

    def _bound(self, module: str, name: str, searched: set[str]) -> Place | None:
        file = self._file(module)
        if file is None:
            return None
        index = self._index(module, file)
        rows = index.names.get(name)
        if rows is not None:
            path = f"{file}:" + ",".join(f"{first}-{last}" for first, last in rows)
            self._statements[path] = Statement(module, file, tuple((first, last) for first, last in rows))
            return Place(path, name)
        for star in reversed(index.stars):
            dotted = star.lstrip(".")
            source = _absolute(module, file, dotted, len(star) - len(dotted))
            if source in searched or len(searched) >= STARS or not self.reads(source):
                continue
            searched.add(source)
            found = self._find(f"{source}.{name}", searched)
            if found is not None:
                return found
        return None

    def _file(self, module: str) -> str | None:
        """Return the file of a module."""
        if module not in self._files:
            self._files[module] = self._look_for(module)
        self._asked.note(Question("module", module), self._files[module])
        return self._files[module]

    def _look_for(self, module: str) -> str | None:
        head, _, name = module.rpartition(".")
        package = self._file(head) if head else None
        if head and (package is None or os.path.basename(package) != INIT):
            return None
        for folder in self.folders if package is None else (os.path.dirname(package),):
            for file in (os.path.join(folder, name, INIT), os.path.join(folder, f"{name}.py")):
                if os.path.isfile(file):
                    return file
        return None

    def _index(self, module: str, file: str) -> Index:
        package = module.partition(".")[0]
        self._asked.note(Question("stamp", file), str(stamp(file)))
        if module not in self._indices:
            title = self._owner(package).title
            self._indices[module] = self._cache.get(title, file) or self._indexed(package, title, file)
        if package in self.problems:
            self._asked.note(Question("unread", package), self.problems[package])
        return self._indices[module]

    def _indexed(self, package: str, title: str, file: str) -> Index:
        text = self._text(file)
        made = index_of(text) if isinstance(text, str) else text
        if isinstance(made, Unread):
            self.problems.setdefault(package, f"{file}: {made.why}")
            return EMPTY
        self._cache.put(title, file, made)
        return made


def _absolute(module: str, file: str, dotted: str, level: int) -> str:
    """Return what a module is called that a file of another imports with `level` dots before its name."""
    if not level:
        return dotted
    parts = module.split(".")
    kept = len(parts) - level + (os.path.basename(file) == INIT)
    return ".".join([*parts[: max(kept, 0)], *([dotted] if dotted else [])])


def _read(file: str) -> str | Unread:
    content = read_bytes(Path(file), LARGEST)
    text = decode(content) if isinstance(content, bytes) else content
    return text if isinstance(text, str) else Unread(text.message)
