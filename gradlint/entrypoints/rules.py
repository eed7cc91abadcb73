"""`gradlint rules`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import click

from gradlint.domain.finding import SEVERITIES
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import config_errors_as_problems
from gradlint.entrypoints.settings_options import words_of
from gradlint.report.rule_page import as_data, summary_of
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from gradlint.settings.selection import matches
from gradlint.settings.words import check_words

_SHORT = ("code", "name", "summary", "severity", "effect", "fixable", "fix", "default", "preview", "url")
_COLUMNS = ("code", "name", "severity", "effect", "fix", "summary")


@click.command()
@click.option("--select", multiple=True, metavar="CODES", help="List only these: codes, prefixes or names.")
@click.option("--severity", multiple=True, type=click.Choice(SEVERITIES), help="List only rules of this severity.")
@click.option("--fixable", is_flag=True, help="List only rules that have fixes.")
@click.option("--output-format", type=click.Choice(("text", "json", "markdown")), default="text", show_default=True)
@plugin_options
def rules(select: tuple[str, ...], severity: tuple[str, ...], fixable: bool, output_format: str) -> None:
    """List the rules, one per line; `gradlint rule CODE` explains one.

    [*] marks rules with safe fixes, [~] rules with unsafe fixes, and `off` rules that are not used unless selected.
    """
    with config_errors_as_problems():
        words = words_of(select, "--select")
        everything = all_rules()
        check_words(words, "--select")
    chosen = [rule for rule in everything if not words or any(matches(word, rule) for word in words)]
    chosen = [rule for rule in chosen if not severity or rule.severity in severity]
    chosen = [rule for rule in chosen if rule.fix is not None or not fixable]
    if output_format == "json":
        click.echo(json.dumps([{name: as_data(rule)[name] for name in _SHORT} for rule in chosen], indent=2))
    else:
        for line in _as_markdown(chosen) if output_format == "markdown" else _as_text(chosen):
            click.echo(line)


def _as_text(chosen: Sequence[Rule]) -> Iterator[str]:
    """Yield the rules in columns."""
    rows = [_cells(rule) for rule in chosen]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


def _as_markdown(chosen: Sequence[Rule]) -> Iterator[str]:
    """Yield the rules as a table."""
    yield f"| {' | '.join(_COLUMNS)} |"
    yield f"|{'---|' * len(_COLUMNS)}"
    for code, name, *rest in map(_cells, chosen):
        yield f"| {code} | `{name}` | {' | '.join(cell.replace('|', '&#124;') for cell in rest)} |"


def _cells(rule: Rule) -> tuple[str, ...]:
    marks = {None: "", "unsafe": "[~]"}
    off = "" if rule.default else "off, preview: " if rule.preview else "off: "
    return rule.code, rule.name, rule.severity, rule.effect, marks.get(rule.fix, "[*]"), f"{off}{summary_of(rule)}"
