"""The options of commands that put findings before torch; what they are for is loaded only when it is asked for."""

from __future__ import annotations

import click

from gradlint.entrypoints.decorating import with_options

_OPTIONS = (
    click.option(
        "--sandbox",
        type=click.Choice(["auto", "bwrap", "none"]),
        default="auto",
        show_default=True,
        help="What stands around our own walls: bubblewrap where it works, bubblewrap, or nothing.",
    ),
    click.option(
        "--trust", is_flag=True, help="Confirm also where nothing outside of Python would hold a program back."
    ),
)


sandbox_options = with_options(_OPTIONS)
"""Add the options to a command."""
