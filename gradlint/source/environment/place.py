"""Where an environment keeps its packages, by the layout of its folders: its Python is not run."""

from __future__ import annotations

import ast
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from gradlint.source.environment.index import Unread
from gradlint.source.regular import content_of

_PYTHON = re.compile(r"python(\d+)(?:\.(\d+))?")


def site_packages(python: Path) -> tuple[str, ...] | Unread:
    """Return the folders of installed packages of an environment, or of that of an interpreter."""
    if not python.exists():
        return Unread("there is no such file or directory")
    prefix = python if python.is_dir() else _above(python)
    stated = _stated(prefix / "pyvenv.cfg")
    version = _version(stated.get("version_info") or stated.get("version") or "")
    if version is None and python.is_file():
        version = _version(os.path.basename(os.path.realpath(python)).removeprefix("python"))
    folders = _folders(prefix, version)
    if not folders and ((version is not None and version[0] == 2) or _has_python2(prefix)):
        return Unread("it is one of Python 2, and gradlint reads Python 3")
    if not folders:
        return Unread("no folder `site-packages` is found there")
    if stated.get("include-system-site-packages", "").lower() == "true" and "home" in stated:
        folders += _folders(Path(stated["home"]).parent, version)
    every = [one for folder in folders for one in (str(folder), *_linked(folder))]
    return tuple(dict.fromkeys(every))


def _linked(folder: Path) -> Iterator[str]:
    """Yield the folders that `.pth` files and editable installs add to a folder of packages: their code is not run."""
    for file in _below(folder):
        if file.suffix == ".pth":
            lines = (line.rstrip() for line in _text(file).splitlines())
            paths = (line for line in lines if line and not line.startswith(("#", "import ", "import\t")))
        elif file.name.startswith("__editable__") and file.name.endswith("_finder.py"):
            paths = (os.path.dirname(path) for name, path in _mapped(_text(file)) if os.path.basename(path) == name)
        else:
            continue
        yield from (str(folder / path) for path in paths if "\0" not in path and (folder / path).is_dir())


def _mapped(text: str) -> Iterator[tuple[str, str]]:
    """Yield the packages of an editable install, and where they lie: what setuptools writes as `MAPPING = {...}`."""
    found = re.search(r"^MAPPING\b[^=\n]*= (\{.*\})$", text, flags=re.MULTILINE)
    try:
        mapping = ast.literal_eval(found[1]) if found is not None else {}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    yield from ((name, path) for name, path in mapping.items() if isinstance(name, str) and isinstance(path, str))


_LARGEST = 100_000


def _text(path: Path) -> str:
    """Return the content of a file; empty where it cannot be read."""
    try:
        return content_of(path, _LARGEST).decode(errors="replace")
    except OSError:
        return ""


def interpreter(name: str) -> Path:
    """Return the path that a text stands for: that of a program, where it is its name alone."""
    found = shutil.which(name) if os.path.basename(name) == name and not os.path.exists(name) else None
    return Path(os.path.abspath(os.path.expanduser(found or name)))


def _above(python: Path) -> Path:
    folder = python.parent
    return folder.parent if folder.name.lower() in ("bin", "scripts") else folder


def _stated(path: Path) -> dict[str, str]:
    """Return the lines `key = value` of a `pyvenv.cfg`."""
    pairs = (line.partition("=") for line in _text(path).splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


def _version(text: str) -> tuple[int, int] | None:
    known = re.match(r"(\d+)(?:\.(\d+))?", text)
    return None if known is None else (int(known[1]), int(known[2] or 0))


def _folders(prefix: Path, version: tuple[int, int] | None) -> list[Path]:
    """Return the folders of packages below a prefix: those of the version, or else of the newest Python 3 there."""
    if version is not None and version[0] < 3:
        return []
    found: dict[tuple[int, int], list[Path]] = {}
    for lib in (prefix / "lib", prefix / "lib64", prefix / "local" / "lib"):
        for folder in _below(lib):
            known = _PYTHON.fullmatch(folder.name)
            if known is not None and known[1] == "3":
                inside = [folder / name for name in ("site-packages", "dist-packages")]
                found.setdefault((3, int(known[2] or 0)), []).extend(one for one in inside if one.is_dir())
    found = {number: inside for number, inside in found.items() if inside}
    windows = prefix / "Lib" / "site-packages"
    if windows.is_dir() and not found:
        return [windows]
    every = found.pop((3, 0), [])  # Debian's, for each version.
    chosen = version if version in found else max(found, default=None)
    return [*(found[chosen] if chosen is not None else ()), *every]


def _has_python2(prefix: Path) -> bool:
    return any(folder.name.startswith("python2") for folder in _below(prefix / "lib"))


def _below(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []
