"""`gradlint graph FILE:LINE[:COL]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from gradlint.domain.drawing import Drawing
from gradlint.entrypoints.drawn import drawn
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem
from gradlint.report.drawing.data import as_json
from gradlint.report.drawing.dot import as_dot
from gradlint.report.drawing.fold import folded
from gradlint.report.drawing.layout import NoLayoutError
from gradlint.report.drawing.mermaid import as_mermaid
from gradlint.report.drawing.page import as_page
from gradlint.report.drawing.svg import MOST_BOXES, TooManyBoxesError, as_svg
from gradlint.report.drawing.tree import as_tree

FORMATS: Mapping[str, Callable[[Drawing], str]] = {
    "text": as_tree,
    "dot": as_dot,
    "mermaid": as_mermaid,
    "svg": as_svg,
    "html": as_page,
    "json": as_json,
}


@click.command()
@click.argument("place", metavar="FILE:LINE[:COL]")
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@click.option(
    "--depth",
    type=click.IntRange(0),
    metavar="N",
    help="Fold what happens in calls of functions and modules below N levels into one node each; by default none.",
)
@plugin_options
def graph(place: str, output_format: str, depth: int | None) -> None:
    """Draw the tape behind a tensor: its nodes, what they saved at which version, leaves, and cuts.

    The tensor is the root of a backward on the line, else what the line assigns, else the last tensor that it computes
    or reads; a column picks an expression. Nothing is run.
    """
    _, found = drawn(place)
    shown = found if depth is None else folded(found, depth)
    try:
        click.echo(FORMATS[output_format](shown))
    except NoLayoutError as error:
        raise Problem(
            f"{output_format} needs a library that lays out graphs: `pip install torch-gradlint[graph]`, or Graphviz "
            "and its Python binding `graphviz`"
        ) from error
    except TooManyBoxesError as error:
        raise Problem(
            f"{place}: {len(shown.steps):,} nodes are too many for a picture of at most {MOST_BOXES}: fold calls by "
            "--depth, or take another format"
        ) from error
