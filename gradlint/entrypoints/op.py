"""`gradlint op NAME`: what autograd does with one operation of torch."""

from __future__ import annotations

import json

import click

from gradlint.facts import load
from gradlint.facts.describe import as_json, text
from gradlint.facts.spelling import close_matches, look_up


@click.command()
@click.argument("name")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def op(context: click.Context, name: str, output_format: str) -> None:
    """Say what autograd does with NAME: what it saves, views and writes, and what its gradient is.

    NAME is spelled as in code: max, torch.max, Tensor.max, x.max, F.relu, nn.ReLU, relu_, '*='.
    """
    table = load()
    entry = look_up(table, name)
    if entry is None:
        click.echo(_unknown(name, close_matches(table, name)), err=True)
        context.exit(2)
    click.echo(json.dumps(as_json(table, entry), indent=2) if output_format == "json" else text(table, entry))


def _unknown(name: str, near: list[str]) -> str:
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"gradlint: the table of torch operations has no {name!r}.{hint}"
