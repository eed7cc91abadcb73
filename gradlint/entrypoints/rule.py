"""`gradlint rule CODE`, `gradlint rule --all`."""

from __future__ import annotations

import json

import click

from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import config_errors_as_problems
from gradlint.report.rule_page import as_data, page
from gradlint.rules.registry import all_rules, rules_about
from gradlint.settings.words import check_words


@click.command()
@click.argument("word", metavar="CODE", required=False)
@click.option("--all", "everything", is_flag=True, help="Explain all rules.")
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", show_default=True)
@plugin_options
def rule(word: str | None, everything: bool, output_format: str) -> None:
    """Explain a rule, by its code or name; a prefix such as GRD1 stands for all rules that begin with it."""
    if (word is None) == (not everything):
        raise click.UsageError(
            "name one rule (`gradlint rules` lists them), or ask for `--all`", click.get_current_context()
        )
    with config_errors_as_problems():
        chosen = all_rules()
        if word is not None:
            check_words([word], "gradlint rule")
            chosen = rules_about(word)
    if output_format == "json":
        data = [as_data(one) for one in chosen]
        click.echo(json.dumps(data[0] if len(data) == 1 and not everything else data, indent=2))
    else:
        click.echo("\n\n".join(page(one) for one in chosen), nl=False)
