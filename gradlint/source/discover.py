"""Find the files to check: those named, and the Python files and notebooks below the directories named."""

from __future__ import annotations

import codecs
import errno
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from gradlint.domain.frozen import Frozen
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.nearest import Configs
from gradlint.source.patterns import Patterns
from gradlint.source.read import OUTSIDE, Unusable, leads_out, unreadable
from gradlint.source.regular import CONFIGURATION, content_of

SUFFIX = ".py"
SUFFIXES = (SUFFIX, ".ipynb")
"""What is looked for in directories, beside what a configuration includes."""


class Gitignores:
    """The `.gitignore` files of all directories that were asked about, each read once.

    What cannot be read of them is put on the list of `problems`.
    """

    def __init__(self, problems: list[str]) -> None:
        self._specs: dict[Path, tuple[tuple[Path, Patterns], ...]] = {}
        self._problems = problems

    def ignore(self, path: Path, *, is_directory: bool) -> bool:
        """Return whether git would leave this entry of a directory out; the deepest file with an opinion decides.

        That a directory above is left out is for the caller to know, who comes from there.
        """
        for root, spec in reversed(self._above(path.parent)):
            verdict = spec.match(_known_as(path, root), is_directory=is_directory)
            if verdict is not None:
                return verdict
        return False

    def _above(self, directory: Path) -> tuple[tuple[Path, Patterns], ...]:
        for one in () if directory in self._specs else reversed(self._unread(directory)):
            outer = () if os.path.exists(one / ".git") else self._specs.get(one.parent, ())
            self._specs[one] = (*outer, *self._rules(one))
        return self._specs[directory]

    def _unread(self, directory: Path) -> list[Path]:
        """Return the directory and those above it that count: to the root of the repository, or of the walk."""
        found: list[Path] = []
        for one in chain((directory,), directory.parents):
            if one in self._specs:
                return found
            found.append(one)
            if os.path.exists(one / ".git"):
                return found
        return found[:1]

    def _rules(self, directory: Path) -> list[tuple[Path, Patterns]]:
        """Return the rules of one directory; at the root of a repository also those that are private to the clone."""
        exclude, ignore = directory / ".git" / "info" / "exclude", directory / ".gitignore"
        texts = [self._text(exclude), self._text(ignore, follow=False)]
        spec = Patterns(line for text in texts for line in text.split(b"\n"))
        return [(directory, spec)] if spec else []

    def _text(self, path: Path, *, follow: bool = True) -> bytes:
        """Return the content, without a mark of UTF-8; empty where git itself would not read it."""
        try:
            return content_of(path, CONFIGURATION, follow=follow).removeprefix(codecs.BOM_UTF8)
        except OSError as error:
            if error.errno not in _ABSENT:
                self._problems.append(f"{path}: cannot be read, and counts as empty: {error.strerror}")
            return b""


_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
"""The errors that say that there is no such file."""


class Found(Frozen):
    """A file to check, under the name by which the user knows it; `problem` if it cannot be read."""

    name: str
    path: Path
    config: Config
    explicit: bool = False
    problem: Unusable | None = None


class _TooWideError(Exception):
    """There are more directories than somebody would wait for who did not ask for them."""


class _Folder(NamedTuple):
    """A directory to look into, under the name by which the user knows it."""

    path: Path
    name: str


@dataclass
class Discovery:
    """What there is below some paths. Links to directories are not followed, so no circle holds us up."""

    configs: Configs
    force_exclude: bool = False
    links: list[str] = field(default_factory=list)
    """The links that are not followed, as they lead out of the directory that was asked for."""
    broken: list[str] = field(default_factory=list)
    """What is wrong with `.gitignore` files, and with configurations that nobody asked for, which are left out."""
    _gitignores: Gitignores = field(init=False)

    def __post_init__(self) -> None:
        """Let what cannot be read of `.gitignore` files be told as well."""
        self._gitignores = Gitignores(self.broken)

    def files(self, names: Iterable[str]) -> list[Found]:
        """Return every file once, in the order of the arguments, sorted below each."""
        found: dict[Path, Found] = {}
        for name in names:
            for file in self._below(name):
                found.setdefault(file.path, file)
        return list(found.values())

    def around(self, folders: Iterable[str], most: int) -> list[Found]:
        """Return the files below some folders; none where there are more than `most` files, or more directories."""
        files = (file for folder in folders for file in self._below(folder, most=most) if file.problem is None)
        try:
            found = {file.path: file for file in islice(files, most + 1)}
        except _TooWideError:
            return []
        return list(found.values()) if len(found) <= most else []

    def _below(self, name: str, *, most: int | None = None) -> Iterator[Found]:
        """Yield the files below a path; nobody asked for them where there is a limit of the directories.

        Raises:
            _TooWideError: there are more directories than `most`.
        """
        path = Path(os.path.abspath(name))
        if os.path.isdir(path):
            if not (self.force_exclude and self._kept_out(path, is_directory=True)):
                yield from self._walk(path, name, path, most)
        elif not (self.force_exclude and self._kept_out(path, is_directory=False)):
            config = self.configs.of(path.parent)
            problem = None
            root = Path.cwd() if path.is_relative_to(Path.cwd()) else path.parent
            if not config.follow_links and leads_out(path, root):
                problem = unreadable(OUTSIDE)
            yield Found(name, path, config, explicit=True, problem=problem)

    def _walk(self, directory: Path, name: str, root: Path, most: int | None) -> Iterator[Found]:
        """Yield the Python files in and below one directory, however deep."""
        asked, folders = most is None, 1
        waiting = [self._listed(directory, name, root, asked)]
        while waiting:
            found = next(waiting[-1], None)
            if found is None:
                waiting.pop()
            elif isinstance(found, Found):
                yield found
            else:
                folders += 1
                if most is not None and folders > most:
                    raise _TooWideError
                waiting.append(self._listed(found.path, found.name, root, asked))

    def _listed(self, directory: Path, name: str, root: Path, asked: bool) -> Iterator[Found | _Folder]:
        """Yield the Python files and the directories in one; an entry that is kept out is not even looked into."""
        try:
            config = self.configs.of(directory)
        except ConfigError as error:
            if asked:
                raise
            self.broken.append(str(error))
            return
        try:
            with os.scandir(directory) as entries:
                ordered = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            problem = unreadable(f"this directory cannot be read: {error.strerror or error}")
            yield Found(name, directory, config, problem=problem)
            return
        known = os.path.normpath(name)
        shown = "" if known == os.curdir else known
        for entry in ordered:
            path, known_as = directory / entry.name, os.path.join(shown, entry.name)
            is_directory = entry.is_dir(follow_symlinks=False)
            if not (is_directory or _is_wanted(path, config)):
                continue
            if self._excluded(path, config, is_directory=is_directory):
                continue
            is_link = entry.is_symlink()
            if is_directory:
                yield _Folder(path, known_as)
            elif not (is_link and os.path.isdir(path)):
                if is_link and not config.follow_links and leads_out(path, root):
                    self.links.append(known_as)
                else:
                    yield Found(known_as, path, config)

    def _excluded(self, path: Path, config: Config, *, is_directory: bool) -> bool:
        if excludes(config, path, is_directory=is_directory):
            return True
        return config.respect_gitignore and self._gitignores.ignore(path, is_directory=is_directory)

    def _kept_out(self, path: Path, *, is_directory: bool) -> bool:
        """Return whether a path that was named would not have been found: it or a directory above it is excluded."""
        config = self.configs.of(path if is_directory else path.parent)
        above = [parent for parent in path.parents if config.root in parent.parents]
        return self._excluded(path, config, is_directory=is_directory) or any(
            self._excluded(parent, config, is_directory=True) for parent in above
        )


def _is_wanted(path: Path, config: Config) -> bool:
    """Return whether a file that nobody named is one to check."""
    return path.name.lower().endswith(SUFFIXES) or (bool(config.extend_include) and includes(config, path))


def includes(config: Config, path: Path) -> bool:
    """Return whether `extend-include` names this very file, by patterns like those of `exclude`."""
    return _named(config, config.extend_include, path, is_directory=False)


def excludes(config: Config, path: Path, *, is_directory: bool) -> bool:
    """Return whether `exclude` names this very entry.

    The patterns are those of `.gitignore`: one without a slash is a name, wherever it stands; one with a slash is a
    path from the configuration's directory.
    """
    return _named(config, (*config.exclude, *config.extend_exclude), path, is_directory=is_directory)


def _named(config: Config, patterns: tuple[str, ...], path: Path, *, is_directory: bool) -> bool:
    return _patterns(patterns).names(_known_as(path, config.root), is_directory=is_directory) is True


def _known_as(path: Path, root: Path) -> str:
    """Return how patterns at a root name a path: after a slash, with which no path begins, where it is not below."""
    place = _place(path.parent, root)
    return ("." if path == root else f"/{path.name}") if place is None else f"{place}{path.name}"


@lru_cache(maxsize=1024)
def _place(folder: Path, root: Path) -> str | None:
    """Return what stands before the names in a folder, as seen from a root; None if it is not below."""
    if not folder.is_relative_to(root):
        return None
    return "" if folder == root else f"{folder.relative_to(root).as_posix()}/"


@lru_cache(maxsize=64)
def _patterns(lines: tuple[str, ...]) -> Patterns:
    return Patterns(lines)
