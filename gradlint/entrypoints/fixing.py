"""What `--fix`, `--diff` and `--show-fixes` do with mended texts; a file is written whole or not at all."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from gradlint.entrypoints.replacing import replace_file
from gradlint.entrypoints.signals import signals_as_exits
from gradlint.outcome import Mended, Outcome
from gradlint.report.printable import printable
from gradlint.source.documents.kinds import encoding_of, largest_of, text_of
from gradlint.source.regular import content_of


def write_files(outcome: Outcome) -> dict[str, str]:
    """Write all mended texts to their files; return those that had to stay as they were, and why.

    A file that goes under two names is written once.
    """
    problems: dict[str, str] = {}
    written: dict[Path, Mended] = {}
    with signals_as_exits():  # So that nothing is left beside the files that are written.
        for filename, mended in outcome.mended.items():
            target = Path(filename).resolve()
            former = written.get(target)
            if mended.after == mended.before or (former is not None and former.after == mended.after):
                continue
            try:
                _write(target, mended.before, mended.after)
                written[target] = mended
            except NotWrittenError as error:
                problems[filename] = f"not fixed: {error}"
    return problems


def broken(outcome: Outcome) -> list[str]:
    """Fixes of ours that did not work, a line for each file and rule."""
    said = []
    for filename, mended in outcome.mended.items():
        what = [f"the fix of {code} is wrong here, and was not made" for code in mended.broken]
        what += [] if mended.settled else ["fixes undo each other"]
        said += [f"{filename}: {one}; please report it" for one in what]
    return said


def diff(outcome: Outcome, *, escaped: bool = False) -> Iterator[str]:
    """What the fixes would change, in the unified format; `escaped` where people read it."""
    for filename, mended in outcome.mended.items():
        for name, *texts in _texts(printable(filename), mended):
            before, after = (text.splitlines(keepends=True) for text in texts)
            for line in difflib.unified_diff(before, after, name, name):
                shown = _escaped(line) if escaped else line
                yield shown if shown.endswith("\n") else f"{shown}\n\\ No newline at end of file\n"


def _texts(name: str, mended: Mended) -> Iterator[tuple[str, str, str]]:
    """Yield what is shown of a file, with its name, before and after: the file, or each cell of a notebook."""
    if mended.cells is None:
        yield name, mended.before, mended.after
    else:
        yield from ((f"{name}:cell {number}", *texts) for number, texts in mended.cells.items())


def _escaped(line: str) -> str:
    """Return a line of a diff with its end and its tabs, and with nothing else that steers a terminal."""
    text = line.rstrip("\r\n")
    return "\t".join(map(printable, text.split("\t"))) + line[len(text) :]


def shown(outcome: Outcome) -> Iterator[str]:
    """The fixes made, by file and rule."""
    for filename, mended in outcome.mended.items():
        if mended.made:
            yield f"Fixed in {printable(filename)}:"
        for (code, name), number in sorted(mended.made.items()):
            yield f"{number:6}  {code}  {name}"


class NotWrittenError(Exception):
    """A file stays as it is, for the reason given."""


def _write(target: Path, before: str, after: str) -> None:
    """Replace the content of a file, which must still be `before`.

    Raises:
        NotWrittenError: it has changed meanwhile, cannot be written, or its encoding lacks a letter.
    """
    try:
        content = content_of(target, largest_of(target.name))
        if text_of(content, target.name) != before:
            raise NotWrittenError("it has been changed meanwhile, and stays as it is")
        if not os.access(target, os.W_OK):
            raise NotWrittenError("it may not be written")
        if target.stat().st_nlink > 1:
            raise NotWrittenError("it has several names (hard links), of which one would get the new text")
        replace_file(target, after.encode(encoding_of(content, target.name)))
    except OSError as error:
        raise NotWrittenError(f"it cannot be written: {error.strerror or error}") from error
    except UnicodeEncodeError as error:
        raise NotWrittenError(f"its encoding has no letter for {error.object[error.start]!r}") from error
