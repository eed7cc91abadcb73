"""`gradlint op NAME`: what autograd does with one operation of torch."""

from __future__ import annotations

import json

import click

from gradlint.facts import describe, load, names, topics
from gradlint.facts.spelling import close_matches, look_up


@click.command()
@click.argument("name")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def op(context: click.Context, name: str, output_format: str) -> None:
    """Say what autograd does with NAME: its node and derivative, what it saves, views and writes.

    NAME is spelled as in code: max, torch.max, Tensor.max, x.max, F.relu, nn.ReLU, relu_, '*=', 'x[i]'. There are pages
    on transforms, modes and hooks too: vmap, no_grad, register_hook, checkpoint.
    """
    table = load()
    topic = topics.topic_of(name)
    entry = table.find(topic.name) if topic is not None else look_up(table, name)
    pages: list[dict[str, object]] = []
    texts: list[str] = []
    if topic is not None:
        pages.append(topics.as_json(topic, table.torch))
        texts.append(topics.text(topic, table.torch))
    if entry is not None:
        pages.append(describe.as_json(table, entry))
        texts.append(describe.text(table, entry))
    if not pages:
        click.echo(_unknown(name, close_matches(table, name)), err=True)
        context.exit(2)
    page = {key: value for one in pages for key, value in one.items()}
    click.echo(json.dumps(page, indent=2) if output_format == "json" else "\n\n".join(texts))


def _unknown(name: str, near: list[str]) -> str:
    full = f"torch.{name.removeprefix('torch.')}"
    instead = names.replacement(full)
    if instead is not None:
        return f"gradlint: torch has no {full} any more; use {instead}."
    owner, _, last = full.rpartition(".")
    if last in (names.names_of(owner) or ()):
        return f"gradlint: torch has {full}, but the table of operations has no page on it."
    hint = f" Did you mean {', '.join(near)}?" if near else ""
    return f"gradlint: the table of torch operations has no {name!r}.{hint}"
