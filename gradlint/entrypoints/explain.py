"""`gradlint explain FILE[:LINE[:COL]]`."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem, config_errors_as_problems, no_such_file
from gradlint.explain import explain as explained
from gradlint.report.explanation import as_json, as_text
from gradlint.report.summary import counted
from gradlint.settings.nearest import Configs
from gradlint.source.documents.kinds import kind_of
from gradlint.source.read import Unusable, decode, read_bytes, split_lines

_PLACE = re.compile(r"(?P<file>.+?)(?::(?P<row>\d+)(?::(?P<column>\d+))?)?")


@click.command()
@click.argument("place", metavar="FILE[:LINE[:COL]]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@plugin_options
def explain(place: str, output_format: str) -> None:
    """Show what gradlint knows about each value on a line, what it does not know and why, and which detectors looked.

    Use it to find out why there is no finding, or why there is one.
    """
    file, row, column = _parse(place)
    document = re.sub(r":cell \d+$", "", file)
    if not os.path.lexists(file) and not os.path.lexists(document):
        raise Problem(no_such_file(file))
    file = file if os.path.lexists(file) else document
    if kind_of(file) is not None:
        raise Problem(
            f"{file}: only Python files are explained; `jupyter nbconvert --to script` makes one of a notebook"
        )
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
    with config_errors_as_problems():
        config = Configs().of(Path(file).absolute().parent)
        found = explained(text, file, row, column, config)
    if isinstance(found, Unusable):
        raise Problem(f"{file}:{found.position.row}: {found.message}")
    click.echo(as_json(found) if output_format == "json" else as_text(found))


def _parse(place: str) -> tuple[str, int | None, int | None]:
    """The file, and the row and column if they are given; a file whose name ends like a place is taken as it is."""
    found = _PLACE.fullmatch(place)
    if found is None or os.path.isfile(place):
        return place, None, None
    row, column = found["row"], found["column"]
    return found["file"], int(row) if row else None, int(column) if column else None
