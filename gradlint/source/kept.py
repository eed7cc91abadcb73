"""The directory in which gradlint keeps what it has learnt for later runs: for its owner alone, ignored by git.

What is there is never needed, and it may be deleted at any time. Whoever wrote the tree may have put links there, so
that what is written would go elsewhere: nothing is read or written through one.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from gradlint.domain.frozen import Frozen
from gradlint.source.regular import content_of

FOLDER = ".gradlint_cache"
_IGNORE = ".gitignore"
_SECRET = 32
_OWN = re.compile(r"\.gitignore|key|results|environment-\d+|tmp\w+")
"""What stands in the directory, files that a run has left half written among it."""


class Kept:
    """Files below a directory; without a directory, nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def read(self, part: str, name: str, largest: int) -> bytes:
        """Return what a file of a part holds.

        Raises:
            OSError: there is none, or it cannot be read.
        """
        if self.folder is None or self._is_linked(part):
            raise FileNotFoundError(name)
        return content_of(self.folder / part / name, largest, follow=False)

    def write(self, part: str, name: str, content: bytes) -> None:
        """Write a file of a part, whole or not at all; another run may write the same at the same time.

        A directory that may not be written, a link in its place, or a full disk: then nothing is kept.
        """
        try:
            if self.folder is not None:
                self._make()
                if not self._is_linked(part):
                    (self.folder / part).mkdir(mode=0o700, exist_ok=True)
                    _write(self.folder / part / name, content)
        except OSError:
            return

    def _make(self) -> None:
        """Make the directory; one that is there and holds something else keeps what git is told of it."""
        assert self.folder is not None
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.listdir(self.folder):
            _write(self.folder / _IGNORE, b"*\n")

    def remove(self) -> bool:
        """Delete the directory; return whether it was there.

        Raises:
            OSError: it cannot be deleted, or it holds what gradlint has not made, and so it stays as it is.
        """
        if self.folder is None or not os.path.lexists(self.folder):
            return False
        if self.folder.is_symlink() or not self.folder.is_dir():
            raise PermissionError("it is no directory that gradlint has made")
        others = sorted(path.name for path in self.folder.iterdir() if _OWN.fullmatch(path.name) is None)
        if others:
            raise PermissionError(f"it holds `{others[0]}`, which gradlint has not made")
        shutil.rmtree(self.folder)
        return True

    def _is_linked(self, part: str) -> bool:
        return self.folder is not None and any(map(os.path.islink, (self.folder, self.folder / part)))


def secret(kept: Kept) -> bytes | None:
    """Return what only the owner of a directory knows, made where it is missing; None where it cannot be kept."""
    for _ in range(2):
        try:
            known = kept.read("", "key", _SECRET)
        except OSError:
            known = b""
        if len(known) == _SECRET:
            return known
        kept.write("", "key", os.urandom(_SECRET))
    return None


class Keeping(Frozen):
    """Where to keep what was learnt: beside the configuration, in the `folder` that is named, or `nowhere`."""

    folder: Path | None = None
    nowhere: bool = False

    def beside(self, root: Path) -> Kept:
        """Return what is kept of a tree."""
        return Kept(None if self.nowhere else self.folder or root / FOLDER)


def _write(path: Path, content: bytes) -> None:
    """Write a file whole, for its owner alone, in the place of whatever stands there."""
    handle, made = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        os.unlink(made)
        raise
