"""The options of `gradlint run` for the picture of a tape: of which line, and into which file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click

from gradlint.concrete.places import Line
from gradlint.entrypoints.decorating import with_options
from gradlint.entrypoints.output_options import refuse_file
from gradlint.entrypoints.placed import read_place
from gradlint.entrypoints.problem import Problem
from gradlint.entrypoints.rendering import depth_option, refuse_form

FORMS: Mapping[str, str] = {
    ".txt": "text",
    ".dot": "dot",
    ".mmd": "mermaid",
    ".svg": "svg",
    ".html": "html",
    ".json": "json",
}
"""The formats of a drawing by the ends of names."""

_OPTIONS = (
    click.option(
        "--graph",
        metavar="FILE:LINE",
        help="Draw the tape that torch has recorded behind the first backward, or else tensor, of a line.",
    ),
    click.option(
        "--graph-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Write the drawing to FILE, in the format of its name: {', '.join(FORMS)}.",
    ),
    depth_option,
)

tape_options = with_options(_OPTIONS)
"""Add the options to a command."""


class Wanted(NamedTuple):
    """The tape that is asked for: its place as it was given, its line, and in which format and file it is written."""

    place: str
    line: Line
    form: str
    file: Path | None
    depth: int | None


def wanted_tape(options: Mapping[str, Any]) -> Wanted | None:
    """Return the tape that the options ask for. What cannot be drawn or written is a problem before anything runs."""
    place, file, depth = options["graph"], options["graph_file"], options["depth"]
    if place is None:
        if file is not None or depth is not None:
            raise click.UsageError("--graph-file and --depth need --graph FILE:LINE")
        return None
    at = read_place(place)
    if at.row is None or at.column is not None:
        raise Problem(f"--graph {place}: name a line, as in {at.file}:12")
    form = "text" if file is None else FORMS.get(file.suffix)
    if form is None:
        raise Problem(f"--graph-file: {file}: the name ends in none of {', '.join(FORMS)}")
    refuse_form(form)
    refuse_file("--graph-file", file)
    return Wanted(place, Line(os.path.realpath(at.file), at.row), form, file, depth)
