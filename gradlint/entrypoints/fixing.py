"""What `--fix`, `--diff` and `--show-fixes` do with mended texts; a file is written whole or not at all."""

from __future__ import annotations

import difflib
import os
import tempfile
import tokenize
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from gradlint.outcome import Outcome
from gradlint.source.read import decode


def write_files(outcome: Outcome) -> list[str]:
    """Write all mended texts to their files; one line for each that had to stay as it was."""
    problems = []
    for filename, mended in outcome.mended.items():
        if mended.after == mended.before:
            continue
        try:
            _write(Path(filename), mended.before, mended.after)
        except _NotWrittenError as error:
            problems.append(f"{filename}: not fixed: {error}")
    return problems


def broken(outcome: Outcome) -> list[str]:
    """Fixes of ours that did not work, a line for each file and rule."""
    said = []
    for filename, mended in outcome.mended.items():
        what = [f"the fix of {code} is wrong here, and was not made" for code in mended.broken]
        what += [] if mended.settled else ["fixes undo each other"]
        said += [f"{filename}: {one}; please report it" for one in what]
    return said


def diff(outcome: Outcome) -> Iterator[str]:
    """What the fixes would change, in the unified format."""
    for filename, mended in outcome.mended.items():
        before, after = (text.splitlines(keepends=True) for text in (mended.before, mended.after))
        for line in difflib.unified_diff(before, after, filename, filename):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def shown(outcome: Outcome) -> Iterator[str]:
    """The fixes made, by file and rule."""
    for filename, mended in outcome.mended.items():
        if mended.made:
            yield f"Fixed in {filename}:"
        for (code, name), number in sorted(mended.made.items()):
            yield f"{number:6}  {code}  {name}"


class _NotWrittenError(Exception):
    """A file stays as it is, for the reason given."""


def _write(path: Path, before: str, after: str) -> None:
    """Replace the content of a file, which must still be `before`; a link keeps pointing to the file it names.

    Raises:
        _NotWrittenError: it has changed meanwhile, cannot be written, or its encoding lacks a letter.
    """
    target = path.resolve()
    try:
        content = target.read_bytes()
        if decode(content) != before:
            raise _NotWrittenError("it has been changed meanwhile, and stays as it is")
        if not os.access(target, os.W_OK):
            raise _NotWrittenError("it may not be written")
        encoding, _ = tokenize.detect_encoding(BytesIO(content).readline)
        _replace(target, after.encode(encoding))
    except OSError as error:
        raise _NotWrittenError(f"it cannot be written: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        raise _NotWrittenError(f"its encoding has no letter for {error.object[error.start]!r}") from error


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
