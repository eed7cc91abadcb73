"""`FILE:LINE:COL` as the argument of a command: the place, and the text of the file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

from gradlint.entrypoints.problem import Problem, no_such_file
from gradlint.report.summary import counted
from gradlint.source.documents.kinds import kind_of
from gradlint.source.read import Unusable, decode, read_bytes, split_lines

_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<row>\d+)(?::(?P<column>\d+))?)?")


class Placed(NamedTuple):
    """A Python file and its text, and the row and column if they are given."""

    file: str
    text: str
    row: int | None
    column: int | None


def read_place(place: str) -> Placed:
    """Read the file of a place; a mistake in it is a problem in one line."""
    file, row, column = _parse(place)
    document = re.sub(r":cell \d+$", "", file)
    if not os.path.lexists(file) and not os.path.lexists(document):
        raise Problem(no_such_file(file))
    file = file if os.path.lexists(file) else document
    if kind_of(file) is not None:
        raise Problem(f"{file}: this works on Python files; `jupyter nbconvert --to script` makes one of a notebook")
    content = read_bytes(Path(file))
    text = decode(content) if isinstance(content, bytes) else content
    if isinstance(text, Unusable):
        raise Problem(f"{file}: {text.message}")
    lines = split_lines(text)
    lines = lines if lines[-1] else lines[:-1]
    if row is not None and not 1 <= row <= len(lines):
        raise Problem(f"{file} has {counted(len(lines), 'line')}, and no line {row}")
    if row is not None and column is not None and not 1 <= column <= max(len(lines[row - 1]), 1):
        raise Problem(f"{file}:{row} has {counted(len(lines[row - 1]), 'column')}, and no column {column}")
    return Placed(file, text, row, column)


def unusable(file: str, why: Unusable) -> Problem:
    """Say why a file is no program."""
    return Problem(f"{file}:{why.position.row}: {why.message}")


def _parse(place: str) -> tuple[str, int | None, int | None]:
    """The file, and the row and column if they are given; a file whose name ends like a place is taken as it is."""
    found = _PLACE.fullmatch(place)
    if found is None or os.path.isfile(place):
        return place, None, None
    row, column = found["row"], found["column"]
    return found["file"], int(row) if row else None, int(column) if column else None
