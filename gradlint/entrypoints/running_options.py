"""The options of `gradlint check` that say how it works, and not what it finds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from gradlint.checker import FILE_SECONDS
from gradlint.entrypoints.decorating import with_options
from gradlint.pool import processors


class Seconds(click.FloatRange):
    """A number of seconds, which neither nan nor inf is."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the number."""
        seconds = super().convert(value, param, ctx)
        return seconds if math.isfinite(seconds) else self.fail(f"{seconds} is not a number of seconds", param, ctx)


SECONDS = Seconds(min=0)


class _Folder(click.Path):
    """A directory, which is named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; an empty text would be the current directory."""
        return super().convert(value, param, ctx) if value else self.fail("the value is empty", param, ctx)


DIRECTORY = _Folder(file_okay=False, path_type=Path)


def _number_of_jobs(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """Return how many processes check; `auto` is one for each processor."""
    if value == "auto":
        return processors()
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise click.BadParameter(f"`{value}` is neither a number of processes nor `auto`", context, parameter)
    return int(value)


jobs_option = click.option(
    "--jobs",
    "-j",
    callback=_number_of_jobs,
    default="auto",
    show_default=True,
    metavar="N",
    help="Run N processes; auto: one per processor.",
)

file_seconds_option = click.option(
    "--file-seconds",
    type=SECONDS,
    default=FILE_SECONDS,
    show_default=True,
    metavar="N",
    help="Give up on a file after N seconds of processor time; 0: never.",
)

_OPTIONS = (
    jobs_option,
    click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
    click.option(
        "--cache-dir",
        type=DIRECTORY,
        metavar="DIR",
        help="Use this cache directory instead of .gradlint_cache.",
    ),
    file_seconds_option,
)


running_options = with_options(_OPTIONS)
"""Add the options to a command."""
