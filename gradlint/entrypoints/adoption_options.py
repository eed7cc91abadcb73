"""The options by which a project with many findings comes to use gradlint step by step: docs/adopting.md."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_FILE = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--baseline", type=_FILE, metavar="FILE", help="Do not report the findings that stand in this file."),
    click.option("--write-baseline", type=_FILE, metavar="FILE", help="Write all findings to this file, and exit."),
    click.option("--add-noqa", is_flag=True, help="Write a `# gradlint: ignore[...]` to each line with findings."),
    click.option("--diff-base", metavar="REF", help="Report only what stands on lines changed since this git commit."),
)


def adoption_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
