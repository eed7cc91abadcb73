"""What `--fix`, `--diff` and `--show-fixes` do with mended texts."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from gradlint.fixes.write import NotWrittenError, write
from gradlint.outcome import Outcome


def write_files(outcome: Outcome) -> list[str]:
    """Write all mended texts to their files; one line for each that had to stay as it was."""
    problems = []
    for filename, mended in outcome.mended.items():
        if mended.after == mended.before:
            continue
        try:
            write(Path(filename), mended.before, mended.after)
        except NotWrittenError as error:
            problems.append(f"{filename}: not fixed: {error}")
    return problems


def broken(outcome: Outcome) -> list[str]:
    """Fixes of ours that did not work, a line for each file and rule."""
    said = []
    for filename, mended in outcome.mended.items():
        said += [
            f"{filename}: the fix of {code} is wrong here, and was not made; please report it" for code in mended.broken
        ]
        if not mended.settled:
            said.append(f"{filename}: fixes undo each other; please report it")
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
