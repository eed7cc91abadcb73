"""Where an import leads within a project: from the name of a module to a file, never beyond the project's root.

The root is the nearest folder above that holds a project's marks (`pyproject.toml`, `.git`, ...). Absolute names are
looked for where Python would find them if it were run as projects are: beside the script, beside the outermost package,
in the folders above up to the root, in `src` of each of these, and where the file adds to `sys.path`. Without any mark,
as in an archive that was unpacked, a few folders above are looked in, too, but none in which packages are installed.
Links that lead out of where a name is looked for are followed only where that is asked for.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from gradlint.source.read import is_below
from gradlint.source.search_path import added_folders

MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "gradlint.toml", ".git")
INIT = "__init__.py"

_KEPT = 4096
"""How many folders are remembered."""

_ABOVE = 3
"""How many folders above are looked in where no mark shows the root of a project."""


class Root(NamedTuple):
    """A folder in which absolute names are looked for; `only` one name, where what else is there is no part of
    the project. `script`: names of Python's own library mean the files here."""

    folder: str
    only: str | None = None
    script: bool = False


class Layout:
    """The folders of projects, each listed once."""

    def __init__(self, *, follow_links: bool = False) -> None:
        self._follow_links = follow_links
        self._real = lru_cache(_KEPT)(os.path.realpath)
        self._leads_out = lru_cache(_KEPT)(self._find_leads_out)
        self._entries = lru_cache(_KEPT)(_list)
        self._marked = lru_cache(_KEPT)(self._find_marked)
        self._projects = lru_cache(_KEPT)(self._find_project)
        self._roots = lru_cache(_KEPT)(self._find_roots)
        self._added = lru_cache(_KEPT)(self._find_added)

    def find(self, importer: str, dotted: str, level: int) -> str | None:
        """Return the file of a module as `importer` names it, with `level` dots before it; a package is its
        `__init__.py`,
        or its folder where it has none."""
        parts = tuple(dotted.split(".")) if dotted else ()
        folder = os.path.dirname(importer)
        if level:
            return self._admitted(importer, self._relative(folder, parts, level))
        if not parts or parts[0] == "torch":
            return None
        for root in self._roots(folder):
            if root.only in (None, parts[0]) and (root.script or parts[0] not in sys.stdlib_module_names):
                found = self._admitted(importer, self._inside(root.folder, parts), root.folder)
                if found is not None:
                    return found
        if parts[0] in sys.stdlib_module_names:
            return None
        added = (self._admitted(importer, self._inside(one, parts), one) for one in self._added(importer))
        return next((found for found in added if found is not None), None)

    def _admitted(self, importer: str, found: str | None, folder: str = "") -> str | None:
        """Return what was found, unless a link on the way leads out of the project, or, beside it, of the folder."""
        if found is None or self._follow_links:
            return found
        project = self.project(importer)
        top = project if not folder or is_below(folder, project) else folder
        return None if self._leads_out(found, top) else found

    def _find_leads_out(self, path: str, top: str) -> bool:
        """Return the same as `read.leads_out`; the links on the way to a folder are followed once for all in it."""
        if not is_below(path, top):
            return False
        folder, name = os.path.split(path)
        real = os.path.realpath(path) if os.path.islink(path) else os.path.join(self._real(folder), name)
        return not is_below(real, self._real(top))

    def project(self, file: str) -> str:
        """Return the folder of the project of a file: below it stand the files that may import the file."""
        return self._projects(os.path.dirname(file))

    def _find_project(self, folder: str) -> str:
        marked, package = self._marked(folder), self._outermost(folder)
        return marked or (folder if package is None else os.path.dirname(package))

    def below(self, package: str, name: str) -> str | None:
        """Return the file of a module inside a package."""
        if os.path.basename(package) == INIT:
            return self._admitted(package, self._inside(os.path.dirname(package), (name,)))
        return None if package.endswith(".py") else self._admitted(f"{package}/", self._inside(package, (name,)))

    def _relative(self, folder: str, parts: tuple[str, ...], level: int) -> str | None:
        limit = self._limit(folder)
        for _ in range(level - 1):
            if folder == limit:
                return None
            folder = os.path.dirname(folder)
        return self._inside(folder, parts) if parts else self._package(folder)

    def _inside(self, folder: str, parts: tuple[str, ...]) -> str | None:
        for index, part in enumerate(parts):
            is_folder = self._entries(folder).get(part)
            if is_folder and (index < len(parts) - 1 or self._package(os.path.join(folder, part))):
                folder = os.path.join(folder, part)
            elif index == len(parts) - 1 and self._entries(folder).get(f"{part}.py") is False:
                return os.path.join(folder, f"{part}.py")
            else:
                return None
        return self._package(folder)

    def _package(self, folder: str) -> str | None:
        entries = self._entries(folder)
        if entries.get(INIT) is False:
            return os.path.join(folder, INIT)
        return folder if any(name.endswith(".py") for name in entries) else None

    def _limit(self, folder: str) -> str:
        """Return the outermost folder of the project."""
        return self._marked(folder) or self._outermost(folder) or folder

    def _find_marked(self, folder: str) -> str | None:
        """Return the nearest folder, going up, that holds a project's marks."""
        while not any(mark in self._entries(folder) for mark in MARKS):
            above = os.path.dirname(folder)
            if above == folder:
                return None
            folder = above
        return folder

    def _outermost(self, folder: str) -> str | None:
        """Return the outermost package around a folder that is a package."""
        found = None
        while self._entries(folder).get(INIT) is False:
            found, folder = folder, os.path.dirname(folder)
        return found

    def _find_roots(self, folder: str) -> tuple[Root, ...]:
        package = self._outermost(folder)
        roots = [Root(folder, script=package is None)]
        marked = self._marked(folder)
        if package is not None:
            parent, name = os.path.split(package)
            inside = marked is not None and is_below(parent, marked)
            unpacked = marked is None and not self._is_installation(parent)
            roots.append(Root(parent, None if inside or unpacked else name))
        if marked is None and (package is None or unpacked):
            top = package or folder  # A script inside the package is run from any of the folders up to it.
            roots += [Root(one) for one in (*_up_to(folder, top), *islice(_above(top), _ABOVE))]
        while marked is not None:
            roots += [Root(folder), Root(os.path.join(folder, "src"))]
            if folder == marked:
                break
            folder = os.path.dirname(folder)
        return tuple(dict.fromkeys(roots))

    def _is_installation(self, folder: str) -> bool:
        """Return whether a folder holds packages that have nothing to do with each other."""
        installed = any(name.endswith((".dist-info", ".egg-info")) for name in self._entries(folder))
        return installed or folder in _shared() or os.path.basename(folder) in ("site-packages", "dist-packages")

    def _find_added(self, importer: str) -> tuple[str, ...]:
        """Return the folders that a file adds to `sys.path`, as far as they lie within its project."""
        folder = os.path.dirname(importer)
        marked = self._marked(folder)
        top = marked or next(reversed([folder, *islice(_above(folder), _ABOVE)]))
        found = added_folders(importer, (folder, *_up_to(folder, top)))
        return tuple(one for one in found if is_below(one, top))


def _up_to(folder: str, top: str) -> Iterator[str]:
    """Yield the folders above one, up to one of them."""
    while folder != top and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
        yield folder


def _above(folder: str) -> Iterator[str]:
    """Yield the folders above one, but none in which projects lie."""
    shared, above = _shared(), os.path.dirname(folder)
    while above not in shared and above != folder:
        yield above
        folder, above = above, os.path.dirname(above)


def _shared() -> frozenset[str]:
    """Return folders in which projects lie: the user's own, that of temporary files, the top."""
    return frozenset({os.path.expanduser("~"), os.path.realpath(tempfile.gettempdir()), os.sep})


def _list(folder: str) -> Mapping[str, bool]:
    """Return what a folder holds, and whether each of it is a folder; nothing, if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.is_dir() for entry in entries}
    except OSError:
        return {}
