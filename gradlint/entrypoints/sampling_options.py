"""The options of `gradlint run` that say how much of a run is watched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from gradlint.concrete.schedule import EVERY, ITERATIONS, Schedule
from gradlint.entrypoints.decorating import with_options
from gradlint.entrypoints.running_options import SECONDS

_NUMBER = click.IntRange(min=1)
_OPTIONS = (
    click.option(
        "--iterations",
        type=_NUMBER,
        metavar="N",
        help=f"Watch samples of N iterations; each ends with a step of an optimizer [default: {ITERATIONS}].",
    ),
    click.option("--every", type=_NUMBER, metavar="M", help=f"Begin a sample every M iterations [default: {EVERY}]."),
    click.option("--seconds", type=SECONDS, metavar="N", help="Watch nothing after N seconds."),
    click.option("--all", "whole", is_flag=True, help="Watch all iterations."),
    click.option("--checksums", is_flag=True, help="Sum what is saved for backward, to find writes that torch misses."),
)

sampling_options = with_options(_OPTIONS)
"""Add the options to a command."""


def schedule_of(options: Mapping[str, Any]) -> Schedule:
    """Return what the options say."""
    iterations, every = options["iterations"], options["every"]
    if not options["whole"]:
        return Schedule(iterations or ITERATIONS, every or EVERY, options["seconds"])
    if iterations is not None or every is not None:
        raise click.UsageError("--all excludes --iterations and --every")
    return Schedule(None, None, options["seconds"])
