"""`gradlint graph FILE:LINE[:COL]`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from gradlint.confirm.run.bubblewrap import Choice
from gradlint.confirm.tape import Compared, compared
from gradlint.domain.drawing import Drawing
from gradlint.entrypoints.drawn import drawn
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem
from gradlint.entrypoints.proving import Terms
from gradlint.entrypoints.sandbox_options import sandbox_options
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
@click.option("--confirm", is_flag=True, help="Run the program in a sandbox, and compare with the tape of torch.")
@sandbox_options
@plugin_options
@click.pass_context
def graph(
    context: click.Context,
    place: str,
    output_format: str,
    depth: int | None,
    confirm: bool,
    sandbox: Choice,
    trust: bool,
) -> None:
    """Draw the tape behind a tensor: its nodes, what they saved at which version, leaves, and cuts.

    The tensor is the root of a backward on the line, else what the line assigns, else the last tensor that it computes
    or reads; a column picks an expression. Nothing is run, unless --confirm is given.

    Exit code with --confirm: 0: torch records the same graph; 1: another one, or it could not be compared.
    """
    at, found = drawn(place)
    if confirm and at.column is not None:
        raise Problem("--confirm compares the tensor of a line: leave out the column")
    _print(place, output_format, found, depth)
    if not confirm:
        return
    with Terms(sandbox, trust=trust).sandbox() as started:
        result = compared(started, found, at.text)
        click.echo(_said(result, started.torch), err=output_format != "text")
    context.exit(0 if result.verdict == "same" else 1)


def _said(result: Compared, torch: str) -> str:
    lines = [f"{result.verdict}: {result.said}{f' (torch {torch})' if torch else ''}"]
    return "\n".join(["", *lines, *(f"  {one}" for one in result.differences)])


def _print(place: str, output_format: str, found: Drawing, depth: int | None) -> None:
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
