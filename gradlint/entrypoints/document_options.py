"""The options of commands that check documents which are looked for on request only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option(
        "--extend-include",
        multiple=True,
        metavar="PATTERN",
        help="Check more files of directories: '*.md' for Python in Markdown.",
    ),
)


def document_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
