"""Read regular files whole, and never more than a bound: a tree may hold FIFOs, devices, and files without an end."""

from __future__ import annotations

import errno
import os
import stat

_KINDS = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
_CHUNK = 1 << 18
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))

CONFIGURATION = 1_000_000
"""A longer configuration or `.gitignore`, in bytes, is not read."""


class NotRegularError(OSError):
    """What stands at a path is no file; `kind` says what it is."""

    def __init__(self, mode: int) -> None:
        self.kind = next((name for holds, name in _KINDS if holds(mode)), "a device")
        super().__init__(errno.EINVAL, f"this is {self.kind}, not a file")


class TooLargeError(OSError):
    """A file has more bytes than are read."""

    def __init__(self, largest: int) -> None:
        super().__init__(errno.EFBIG, f"the file has more than {largest:,} bytes")


def content_of(path: str | os.PathLike[str], largest: int, *, follow: bool = True) -> bytes:
    """Return the content of a regular file with at most `largest` bytes; the last link of a path need not be followed.

    What is no file is not opened, and what has come in its place meanwhile holds nobody up.

    Raises:
        NotRegularError: it is a FIFO, a device, or the like.
        TooLargeError: it has more bytes.
        OSError: it cannot be read.
    """
    _require_regular(os.stat(path, follow_symlinks=follow), largest)
    handle = os.open(path, _FLAGS | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _require_regular(os.fstat(handle), largest)
        return _read(handle, largest)
    finally:
        os.close(handle)


def _require_regular(known: os.stat_result, largest: int) -> None:
    if not stat.S_ISREG(known.st_mode):
        raise NotRegularError(known.st_mode)
    if known.st_size > largest:
        raise TooLargeError(largest)


def _read(handle: int, largest: int) -> bytes:
    """Read to the end: the size that the system tells may be wrong, as of a file that grows."""
    pieces: list[bytes] = []
    length = 0
    while piece := os.read(handle, _CHUNK):
        pieces.append(piece)
        length += len(piece)
        if length > largest:
            raise TooLargeError(largest)
    return b"".join(pieces)
