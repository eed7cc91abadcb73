"""The page about the commands, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from gradlint.entrypoints.cli import COMMANDS, cli
from tools.settings_docs import option_table

INTRO = """\
# Commands

This page is generated from the commands. Each prints the same with `--help`. Exit codes: 0: it worked, and found
nothing above info; 1: warnings or errors; 2: bad usage, or an error of gradlint. A command whose codes mean something
else says so.
"""
ELSEWHERE = {"check": "configuration.md#options-of-gradlint-check"}
"""Tables of options that stand on pages of their own."""


def commands() -> str:
    """Return the page."""
    return "\n".join([INTRO, *_table(), "", *(line for name in sorted(COMMANDS) for line in _section(name))])


def _table() -> Iterator[str]:
    yield "| command | |"
    yield "|---|---|"
    for name in sorted(COMMANDS):
        yield f"| [`gradlint {name}`](#gradlint-{name}) | {COMMANDS[name]} |"


def _section(name: str) -> Iterator[str]:
    with click.Context(cli, info_name="gradlint", **cli.context_settings) as parent:
        command = cli.get_command(parent, name)
        assert command is not None
        context = click.Context(command, parent, name, help_option_names=parent.help_option_names)
        usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
        yield from (f"## `gradlint {name}`", "", "```text", usage, "```", "", *_paragraphs(command.help or ""))
        if name in ELSEWHERE:
            yield from (f"Options: [configuration]({ELSEWHERE[name]}).", "")
        else:
            yield from (*option_table(command, context), "")


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the text of a help page; what click must not wrap is a block."""
    for paragraph in re.split(r"\n{2,}", text.strip()):
        if paragraph.startswith("\b\n"):
            yield from ("```text", paragraph.removeprefix("\b\n"), "```", "")
        else:
            yield from (" ".join(paragraph.split()), "")
