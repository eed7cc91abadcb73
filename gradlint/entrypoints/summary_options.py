"""The options of `gradlint run` for what is said of a run besides its findings."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gradlint.entrypoints.decorating import with_options
from gradlint.entrypoints.output_options import refuse_file
from gradlint.settings.config import ConfigError

SUFFIXES = (".json", ".html")

_OPTIONS = (
    click.option(
        "--summary",
        multiple=True,
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write a summary of the run to FILE: data for a name in .json, a page for one in .html.",
    ),
    click.option(
        "--check",
        "checks",
        is_flag=True,
        help="Also check the files that the program has run, and say what of that was seen.",
    ),
)

summary_options = with_options(_OPTIONS)
"""Add the options to a command."""


def refuse_summary(path: Path) -> None:
    """Raise `ConfigError` where a summary cannot be written to a path, before the program runs."""
    if path.suffix not in SUFFIXES:
        raise ConfigError(f"--summary: {path}: the name ends neither in .json nor in .html")
    refuse_file("--summary", path)
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ConfigError(f"--summary: {path}: cannot be written")
