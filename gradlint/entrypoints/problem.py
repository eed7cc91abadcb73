"""Mistakes of the user: one line to standard error, exit code 2."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import click

from gradlint.plugins.installed import PluginError
from gradlint.report.printable import printable
from gradlint.settings.config import ConfigError


class Problem(click.ClickException):
    """What the user should mend, in one line."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        click.echo(printable(f"gradlint: error: {self.format_message()}"), file=file, err=file is None)


def complain(what: str) -> None:
    """Say in one line what went wrong."""
    click.echo(printable(f"gradlint: {what}"), err=True)


def no_such_file(path: str) -> str:
    """Say that nothing is at a path."""
    return f"{path}: no such file or directory"


@contextmanager
def config_errors_as_problems() -> Iterator[None]:
    """A mistake in a configuration, or in a plugin, is one that the user should mend."""
    try:
        yield
    except (ConfigError, PluginError) as error:
        raise Problem(f"{error}") from error
