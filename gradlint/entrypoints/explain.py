"""`gradlint explain FILE[:LINE[:COL]]`."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.entrypoints.placed import read_place, unusable
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import config_errors_as_problems
from gradlint.explain import explain as explained
from gradlint.report.explanation import as_json, as_text
from gradlint.settings.nearest import Configs
from gradlint.source.read import Unusable


@click.command()
@click.argument("place", metavar="FILE[:LINE[:COL]]")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@plugin_options
def explain(place: str, output_format: str) -> None:
    """Show what gradlint knows about each value on a line, what it does not know and why, and which detectors looked.

    Use it to find out why there is no finding, or why there is one.
    """
    at = read_place(place)
    with config_errors_as_problems():
        config = Configs().of(Path(at.file).absolute().parent)
        found = explained(at.text, at.file, at.row, at.column, config)
    if isinstance(found, Unusable):
        raise unusable(at.file, found)
    click.echo(as_json(found) if output_format == "json" else as_text(found))
