"""The directory that a worker runs in; what a killed run leaves behind, the next one removes."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator

_PREFIX = "gradlint-confirm-"


class Home:
    """A temporary directory of ours, locked as long as it is in use."""

    def __init__(self) -> None:
        """Make one, after those have been removed whose users are gone."""
        _sweep(tempfile.gettempdir())
        self.path, self._lock = _made()

    def remove(self) -> None:
        """Remove it with what torch has put there."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _made() -> tuple[str, int | None]:
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX)
        lock = _locked(path)
        # Another run may have taken it for a left one before it was locked.
        if lock is not None or sys.platform == "win32":
            return path, lock


def _sweep(folder: str) -> None:
    """Remove the directories that nobody has locked."""
    for path in _homes(folder):
        lock = _locked(path)
        if lock is not None:
            shutil.rmtree(path, ignore_errors=True)
            os.close(lock)


def _homes(folder: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX) and entry.is_dir(follow_symlinks=False):
                yield entry.path


if sys.platform == "win32":

    def _locked(path: str) -> int | None:
        """Directories cannot be locked there."""
        return None

else:
    import fcntl

    def _locked(path: str) -> int | None:
        """Return a descriptor that has the lock of a directory of ours; None if somebody else has it, or it is gone."""
        try:
            lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            own = os.fstat(lock)
            if own.st_uid == os.getuid() and os.path.samestat(own, os.lstat(path)):
                return lock
        except OSError:
            pass  # It is in use, or has just been removed.
        os.close(lock)
        return None
