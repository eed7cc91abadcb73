"""bubblewrap around the worker, where it is installed: a world in which nothing can be written and nobody else lives.

Only Python, torch, and this package are in that world, read-only, with an empty `/dev` and namespaces of its own for
processes, network, users, and shared memory: bwrap(1).
"""

from __future__ import annotations

import functools
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

Choice = Literal["auto", "bwrap", "none"]
"""What stands around the walls that are our own: bubblewrap where it works, bubblewrap in any case, or nothing."""

_PACKAGE = Path(__file__).resolve().parents[2]
_SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d")
_SECONDS = 30.0


class UnavailableError(Exception):
    """What was asked for around the repros is not on this system."""


def command(choice: Choice, home: str) -> list[str]:
    """Return what the command of the worker is to begin with, in which `home` is the working directory.

    Raises:
        UnavailableError: bubblewrap was asked for, and it is not installed, or cannot work here.
    """
    if choice == "none":
        return []
    path = _path()
    if path is not None and _works(path):
        return _wrapped(path, home)
    if choice == "bwrap":
        raise UnavailableError("bubblewrap is not installed" if path is None else "bubblewrap does not work here")
    return []


def _path() -> str | None:
    """Return where bubblewrap is; a relative folder of the search path might lie in what is checked."""
    folders = (folder for folder in os.get_exec_path() if os.path.isabs(folder))
    return shutil.which("bwrap", path=os.pathsep.join(folders))


@functools.cache
def _works(path: str) -> bool:
    """Return whether Python starts in it: a container, or a setting of the kernel, may forbid namespaces."""
    trial = [*_wrapped(path, "/"), sys.executable, "-I", "-S", "-c", "pass"]
    try:
        return subprocess.run(trial, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _wrapped(path: str, home: str) -> list[str]:
    binds = [word for folder in _readable() for word in ("--ro-bind", folder, folder)]
    own = [] if home == "/" else ["--ro-bind", home, home]
    isolated = ("--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL")
    return [path, *isolated, *binds, "--proc", "/proc", "--dev", "/dev", *own, "--chdir", home, "--"]


def _readable() -> Sequence[str]:
    """Return the folders that Python, torch, and this package are read from, outer ones first."""
    found = {os.path.abspath(folder) for folder in _folders() if folder and os.path.exists(folder)}
    return sorted(found)


def _folders() -> Iterator[str]:
    yield from _SYSTEM
    yield from (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
    yield from site.getsitepackages()
    if site.ENABLE_USER_SITE:
        yield site.getusersitepackages()
    yield os.path.dirname(os.path.realpath(sys.executable))
    yield str(_PACKAGE)
    yield from os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
