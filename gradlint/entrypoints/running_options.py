"""The options of `gradlint check` that say how it works, and not what it finds."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.checker import FILE_SECONDS
from gradlint.entrypoints.decorating import with_options
from gradlint.pool import processors


def _number_of_jobs(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return how many processes check; `auto` is one for each processor."""
    if value == "auto":
        return processors()
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise click.BadParameter(f"`{value}` is neither a number of processes nor `auto`", context, parameter)
    return int(value)


_OPTIONS = (
    click.option(
        "--jobs",
        "-j",
        callback=_number_of_jobs,
        default="auto",
        show_default=True,
        metavar="N",
        help="Check in so many processes; auto: one for each processor.",
    ),
    click.option("--no-cache", is_flag=True, help="Neither use nor keep what earlier runs have found."),
    click.option(
        "--cache-dir",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Keep it in this directory instead of .gradlint_cache.",
    ),
    click.option(
        "--file-seconds",
        type=click.FloatRange(min=0),
        default=FILE_SECONDS,
        show_default=True,
        metavar="N",
        help="Give a file up that takes more of the processor's time; 0: never.",
    ),
)


running_options = with_options(_OPTIONS)
"""Add the options to a command."""
