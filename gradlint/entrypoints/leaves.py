"""`gradlint leaves FILE:LINE[:COL]`."""

from __future__ import annotations

import click

from gradlint.entrypoints.drawn import drawn
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.report.drawing.data import leaves_as_json
from gradlint.report.drawing.leaves import as_list


@click.command()
@click.argument("place", metavar="FILE:LINE[:COL]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@plugin_options
def leaves(place: str, output_format: str) -> None:
    """List the leaves behind a loss: which get a gradient from it, which not, and which line cuts them off.

    The tensor is the one of `gradlint graph`. Of each leaf it says which optimizers hold it, too.
    """
    _, found = drawn(place)
    click.echo(leaves_as_json(found) if output_format == "json" else as_list(found))
