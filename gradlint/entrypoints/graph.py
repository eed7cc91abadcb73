"""`gradlint graph FILE:LINE[:COL]`."""

from __future__ import annotations

import click

from gradlint.confirm.run.bubblewrap import Choice
from gradlint.confirm.tape import Compared, compared
from gradlint.entrypoints.drawn import drawn
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import Problem
from gradlint.entrypoints.proving import Terms
from gradlint.entrypoints.rendering import FORMATS, depth_option, rendered
from gradlint.entrypoints.sandbox_options import sandbox_options


@click.command()
@click.argument("place", metavar="FILE:LINE[:COL]")
@click.option("--output-format", type=click.Choice(list(FORMATS)), default="text", show_default=True)
@depth_option
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
    click.echo(rendered(place, found, output_format, depth))
    if not confirm:
        return
    with Terms(sandbox, trust=trust).sandbox() as started:
        result = compared(started, found, at.text)
        click.echo(_said(result, started.torch), err=output_format != "text")
    context.exit(0 if result.verdict == "same" else 1)


def _said(result: Compared, torch: str) -> str:
    lines = [f"{result.verdict}: {result.said}{f' (torch {torch})' if torch else ''}"]
    return "\n".join(["", *lines, *(f"  {one}" for one in result.differences)])
