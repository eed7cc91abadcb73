"""`gradlint check --show-files` and `--show-settings`: what would be checked, and how; nothing is."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from gradlint.entrypoints.decorating import with_options
from gradlint.entrypoints.problem import Problem, no_such_file
from gradlint.report.printable import printable
from gradlint.settings.nearest import Configs
from gradlint.settings.show import shown
from gradlint.source.discover import Discovery

_OPTIONS = (
    click.option("--show-files", is_flag=True, help="List the files that would be checked."),
    click.option(
        "--show-settings", is_flag=True, help="Show the settings for the first path, and where each comes from."
    ),
)


showing_options = with_options(_OPTIONS)
"""Add the options to a command."""


def files(paths: Sequence[str], configs: Configs, *, force_exclude: bool) -> Iterator[str]:
    """Yield the names of the files; of those that are not named, only those that mention torch are interpreted."""
    _require(paths)
    for found in Discovery(configs, force_exclude).files(paths):
        yield printable(found.name)


def settings(path: str, configs: Configs) -> Iterator[str]:
    """Yield what holds for a file or for the files of a directory."""
    _require([path])
    absolute = Path(os.path.abspath(path))
    directory = absolute if absolute.is_dir() else absolute.parent
    return map(printable, shown(configs.of(directory), directory))


def _require(paths: Sequence[str]) -> None:
    for path in paths:
        if not os.path.lexists(path):
            raise Problem(no_such_file(path))
