"""The option that says whether installed plugins count: one option of all commands that use rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from gradlint.plugins.installed import switched_off


def _go_without(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.with_resource(switched_off())


_OPTION = click.option(
    "--no-plugins",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_go_without,
    help="Do not load rules or models of other installed packages.",
)


def plugin_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option to a command; it counts before any other is looked at."""
    return _OPTION(command)
