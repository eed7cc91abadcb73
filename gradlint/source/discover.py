"""Find the files to check: those named, and the Python files and notebooks below the directories named."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path

from gradlint.domain.frozen import Frozen
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.nearest import Configs
from gradlint.source.patterns import Patterns
from gradlint.source.read import OUTSIDE, Unusable, leads_out, unreadable

SUFFIX = ".py"
SUFFIXES = (SUFFIX, ".ipynb")
"""What is looked for in directories, beside what a configuration includes."""


class Gitignores:
    """The `.gitignore` files of all directories that were asked about, each read once."""

    def __init__(self) -> None:
        self._specs: dict[Path, tuple[tuple[Path, Patterns], ...]] = {}

    def ignore(self, path: Path, *, is_directory: bool) -> bool:
        """Return whether git would leave this entry of a directory out; the deepest file with an opinion decides.

        That a directory above is left out is for the caller to know, who comes from there.
        """
        for root, spec in reversed(self._above(path.parent)):
            verdict = spec.match(path.relative_to(root).as_posix(), is_directory=is_directory)
            if verdict is not None:
                return verdict
        return False

    def _above(self, directory: Path) -> tuple[tuple[Path, Patterns], ...]:
        if directory not in self._specs:
            self._specs[directory] = (*self._outer(directory), *_rules(directory))
        return self._specs[directory]

    def _outer(self, directory: Path) -> tuple[tuple[Path, Patterns], ...]:
        """Return what holds from further up: to the root of the repository, or, outside of any, of the walk."""
        parent = directory.parent
        if (directory / ".git").exists() or parent == directory:
            return ()
        in_repository = any((above / ".git").exists() for above in directory.parents)
        return self._above(parent) if in_repository or parent in self._specs else ()


def _rules(directory: Path) -> list[tuple[Path, Patterns]]:
    """Return the rules of one directory; at the root of a repository also those that are private to the clone."""
    texts = [_text(directory / ".git" / "info" / "exclude"), _text(directory / ".gitignore")]
    lines = [line for text in texts for line in text.split(b"\n")]
    return [(directory, Patterns(lines))] if lines else []


def _text(path: Path) -> bytes:
    """Return the content, without a mark of UTF-8; empty where there is none or git itself could not read it."""
    try:
        return path.read_bytes().removeprefix(codecs.BOM_UTF8)
    except OSError:
        return b""


class Found(Frozen):
    """A file to check, under the name by which the user knows it; `problem` if it cannot be read."""

    name: str
    path: Path
    config: Config
    explicit: bool = False
    problem: Unusable | None = None


@dataclass
class Discovery:
    """What there is below some paths. Links to directories are not followed, so no circle holds us up."""

    configs: Configs
    force_exclude: bool = False
    links: list[str] = field(default_factory=list)
    """The links that are not followed, as they lead out of the directory that was asked for."""
    broken: list[str] = field(default_factory=list)
    """What is wrong with configurations of folders that nobody asked for, the files of which are left out."""
    _gitignores: Gitignores = field(default_factory=Gitignores)

    def files(self, names: Iterable[str]) -> list[Found]:
        """Return every file once, in the order of the arguments, sorted below each."""
        found: dict[Path, Found] = {}
        for name in names:
            for file in self._below(name):
                found.setdefault(file.path, file)
        return list(found.values())

    def around(self, folders: Iterable[str], most: int) -> list[Found]:
        """Return the files below some folders; none where there are more than `most`."""
        files = (file for folder in folders for file in self._below(folder, asked=False) if file.problem is None)
        found = {file.path: file for file in islice(files, most + 1)}
        return list(found.values()) if len(found) <= most else []

    def _below(self, name: str, *, asked: bool = True) -> Iterator[Found]:
        path = Path(os.path.abspath(name))
        if path.is_dir():
            if not (self.force_exclude and self._kept_out(path, is_directory=True)):
                yield from self._walk(path, name, path, asked)
        elif not (self.force_exclude and self._kept_out(path, is_directory=False)):
            config = self.configs.of(path.parent)
            problem = None
            root = Path.cwd() if path.is_relative_to(Path.cwd()) else path.parent
            if not config.follow_links and leads_out(path, root):
                problem = unreadable(OUTSIDE)
            yield Found(name, path, config, explicit=True, problem=problem)

    def _walk(self, directory: Path, name: str, root: Path, asked: bool) -> Iterator[Found]:
        """Yield the files to check in and below one directory; an entry that is kept out is not even looked into."""
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
        for entry in ordered:
            path, known_as = directory / entry.name, os.path.normpath(os.path.join(name, entry.name))
            is_directory = entry.is_dir(follow_symlinks=False)
            if self._excluded(path, config, is_directory=is_directory):
                continue
            if is_directory:
                yield from self._walk(path, known_as, root, asked)
            elif _is_wanted(path, config) and not path.is_dir():
                if entry.is_symlink() and not config.follow_links and leads_out(path, root):
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
    return path.name.endswith(SUFFIXES) or (bool(config.extend_include) and includes(config, path))


def includes(config: Config, path: Path) -> bool:
    """Return whether `extend-include` names this very file, by patterns like those of `exclude`."""
    return _named(config, config.extend_include, path, is_directory=False)


def excludes(config: Config, path: Path, *, is_directory: bool) -> bool:
    """Return whether `exclude` names this very entry.

    The patterns are those of `.gitignore`: one without a slash is a name, wherever it stands; one with a slash is a
    path from the configuration's directory.
    """
    return _named(config, config.exclude, path, is_directory=is_directory)


def _named(config: Config, patterns: tuple[str, ...], path: Path, *, is_directory: bool) -> bool:
    inside = path.is_relative_to(config.root)
    known_as = path.relative_to(config.root).as_posix() if inside else f"/{path.name}"  # Which no path begins with.
    return _patterns(patterns).names(known_as, is_directory=is_directory) is True


@lru_cache(maxsize=64)
def _patterns(lines: tuple[str, ...]) -> Patterns:
    return Patterns(lines)
