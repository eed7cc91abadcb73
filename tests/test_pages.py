"""The README and the pages for users: their links lead somewhere, and their commands are ones that gradlint has."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

import gradlint
from gradlint.entrypoints.cli import cli

ROOT = Path(gradlint.__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)")
_INLINE = re.compile(r"`(gradlint [a-z][^`]*)`")
_COMMANDS = "check|confirm|explain|graph|init|leaves|op|rules?|scan|server"
_LINE = re.compile(rf"^(?:[- ]*(?:run|script): |- )?(gradlint (?:{_COMMANDS})\b(?:[^|<>#\n\\]|\\\n)*)", re.MULTILINE)


def commands(page: Path) -> list[str]:
    """The commands on a page, in text and in blocks."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"```(?:sh|yaml|console)\n(.*?)```", text, re.DOTALL)
    found = [*_INLINE.findall(text), *(line.strip() for block in blocks for line in _LINE.findall(block))]
    return [command for command in dict.fromkeys(found) if not re.search(r"[A-Z]{4}|\.\.\.|\[", command)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    """Relative ones; addresses are not asked."""
    links = (link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link)
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("command", sorted({one for page in PAGES for one in commands(page)}))
def test_commands_are_understood(command: str) -> None:
    """By click: command, options, and their values; nothing is run."""
    name, *arguments = shlex.split(command)[1:]
    with click.Context(cli, **cli.context_settings) as context:
        found = cli.get_command(context, name)
    assert found is not None, f"there is no command {name}"
    if arguments:  # Without any, a page speaks of the command itself.
        found.make_context(name, arguments, parent=context)
