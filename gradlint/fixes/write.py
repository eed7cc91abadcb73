"""Write a mended text back to its file: all of it or nothing, in its own encoding, with its own mode."""

from __future__ import annotations

import os
import tempfile
import tokenize
from io import BytesIO
from pathlib import Path

from gradlint.source.read import decode


class NotWrittenError(Exception):
    """A file stays as it is, for the reason given."""


def write(path: Path, before: str, after: str) -> None:
    """Replace the content of a file, which must still be `before`; a link keeps pointing to the file it names.

    Raises:
        NotWrittenError: it has changed meanwhile, cannot be written, or its encoding lacks a letter.
    """
    target = path.resolve()
    try:
        content = target.read_bytes()
        if decode(content) != before:
            raise NotWrittenError("it has been changed meanwhile, and stays as it is")
        if not os.access(target, os.W_OK):
            raise NotWrittenError("it may not be written")
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        _replace(target, after.encode(encoding))
    except OSError as error:
        raise NotWrittenError(f"it cannot be written: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        raise NotWrittenError(f"its encoding has no letter for {error.object[error.start]!r}") from error


def _replace(target: Path, content: bytes) -> None:
    """Write a file beside the target and let it take the target's place, which no reader sees half done."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".gradlint")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
