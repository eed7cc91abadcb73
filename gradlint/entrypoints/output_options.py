"""The options that say how findings are written, and where."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from gradlint.entrypoints.decorating import with_options
from gradlint.entrypoints.replacing import replace_file
from gradlint.entrypoints.signals import signals_as_exits
from gradlint.settings.config import ConfigError
from gradlint.settings.keys import DEFAULT_FORMAT, FORMATS

_OPTIONS = (
    click.option(
        "--output-format", type=click.Choice(FORMATS), help=f"The format of the findings [default: {DEFAULT_FORMAT}]."
    ),
    click.option(
        "-o",
        "--output-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write findings to this file instead of printing them.",
    ),
    click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Use colours: on a terminal, always, or never.",
    ),
)


output_options = with_options(_OPTIONS)
"""Add the options to a command."""


def refuse_file(option: str, path: Path | None) -> None:
    """Raise `ConfigError` where the path that an option names cannot become a file, before any work is done."""
    if path is None:
        return
    if path.is_dir():
        raise ConfigError(f"{option}: {path} is a directory")
    if not path.parent.is_dir():
        raise ConfigError(f"{option}: there is no directory {path.parent}")


def write_output_file(path: Path, pieces: Iterable[str]) -> str | None:
    """Write the pieces to a file, a line each; return what went wrong.

    A regular file gets them all at once; what is none, such as a FIFO or `/dev/stdout`, stays what it is.
    """
    content = "".join(f"{piece}\n" for piece in pieces).encode(errors="backslashreplace")
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)
            return None
        with signals_as_exits():  # So that nothing is left beside the file.
            replace_file(path.resolve(), content)
    except OSError as error:
        return f"{path}: cannot be written: {error.strerror or error}"
    return None
