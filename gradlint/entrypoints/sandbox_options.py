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
        help="Use bubblewrap around our own sandbox: if it works, always, or never.",
    ),
    click.option("--trust", is_flag=True, help="Confirm even where nothing outside of Python isolates the program."),
)


sandbox_options = with_options(_OPTIONS)
"""Add the options to a command."""
