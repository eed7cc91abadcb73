"""`gradlint check [PATHS or -]`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gradlint.config import Configs, Overrides
    from gradlint.outcome import Outcome
    from gradlint.report.paint import Paint

STDIN = "-"
FORMATS = ("concise", "full", "json")


@dataclass(frozen=True)
class Wishes:
    """The options of the command line, as click hands them over."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    per_file_ignores: tuple[str, ...]
    extend_exclude: tuple[str, ...]
    force_exclude: bool
    ignore_noqa: bool
    config: Path | None
    isolated: bool
    stdin_filename: str | None
    output_format: str | None
    exit_zero: bool
    quiet: bool
    statistics: bool
    traceback: bool


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS | -]")
@click.option("--select", multiple=True, metavar="CODES", help="Use only these rules: codes or prefixes.")
@click.option("--extend-select", multiple=True, metavar="CODES", help="Use these rules as well.")
@click.option("--ignore", multiple=True, metavar="CODES", help="Do not use these rules.")
@click.option("--per-file-ignores", multiple=True, metavar="PATTERN:CODES", help="Ignore them in some files.")
@click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Keep out more of the tree.")
@click.option("--force-exclude", is_flag=True, help="Keep out excluded files even if they are named.")
@click.option("--ignore-noqa", is_flag=True, help="Report what comments silence.")
@click.option(
    "--config",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use this pyproject.toml or gradlint.toml.",
)
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--stdin-filename", metavar="FILE", help="What to call standard input.")
@click.option("--output-format", type=click.Choice(FORMATS), help="How to write findings [default: concise].")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors, nothing else.")
@click.option("--statistics", is_flag=True, help="Count findings by rule, and what could not be followed.")
@click.option("--traceback", is_flag=True, help="Show the whole traceback of an internal error.")
@click.pass_context
def check(context: click.Context, /, **options: Any) -> None:
    """Find autograd mistakes in files and directories; the default is the current directory.

    Exit code 0: no findings; 1: findings; 2: bad usage, or an error of gradlint itself.
    """
    from gradlint.entrypoints.problem import config_errors_as_problems

    wishes = Wishes(**options)
    with config_errors_as_problems():
        code = run(wishes)
    context.exit(code)


def run(wishes: Wishes) -> int:
    """Check, print, and give the exit code."""
    configs = _configs(wishes)
    output_format = wishes.output_format or configs.of(Path.cwd()).output_format
    missing = [path for path in wishes.paths if path != STDIN and not os.path.lexists(path)]
    outcome = _check(wishes, [path for path in wishes.paths or (".",) if path not in missing], configs)
    for path in missing:
        click.echo(f"gradlint: error: {path}: no such file or directory", err=True)
    for crash in outcome.crashes:
        click.echo(f"gradlint: internal error in {crash.filename}: {crash.summary}; please report it", err=True)
        if wishes.traceback:
            click.echo(crash.trace, err=True)
    _print_findings(outcome, output_format)
    for line in _remarks(outcome, wishes, files_were_expected=not missing):
        click.echo(line, err=True)
    if missing or outcome.crashes:
        return 2
    return 1 if outcome.findings and not wishes.exit_zero else 0


def _check(wishes: Wishes, paths: list[str], configs: Configs) -> Outcome:
    from gradlint.check import check_content, check_paths
    from gradlint.config import ConfigError
    from gradlint.entrypoints.progress import ProgressBar

    if STDIN in paths:
        if len(wishes.paths) > 1:
            raise ConfigError("`-` stands alone: either standard input or files")
        filename = wishes.stdin_filename or STDIN
        content = sys.stdin.buffer.read()
        return check_content(content, filename, configs.of(Path(filename).absolute().parent))
    bar = ProgressBar(sys.stderr, silent=wishes.quiet)
    try:
        return check_paths(paths, configs=configs, force_exclude=wishes.force_exclude, progress=bar)
    finally:
        bar.clear()


def _configs(wishes: Wishes) -> Configs:
    from gradlint.config import Config, ConfigError, Configs
    from gradlint.config_file import load

    if wishes.config is not None and wishes.isolated:
        raise ConfigError("--config and --isolated exclude each other")
    fixed = load(wishes.config) if wishes.config is not None else Config() if wishes.isolated else None
    return Configs(fixed, _overrides(wishes))


def _overrides(wishes: Wishes) -> Overrides:
    """What the command line says, its words checked."""
    from gradlint.config import Overrides, parse_file_ignores
    from gradlint.config_file import check_words
    from gradlint.selection import Selection

    ignores = parse_file_ignores(Path.cwd(), wishes.per_file_ignores)
    selection = Selection(
        select=tuple(_words(wishes.select)) if wishes.select else None,
        extend_select=tuple(_words(wishes.extend_select)),
        ignore=tuple(_words(wishes.ignore)),
    )
    check_words(selection.select or (), "--select")
    check_words(selection.extend_select, "--extend-select")
    check_words(selection.ignore, "--ignore")
    check_words((code for ignore in ignores for code in ignore.codes), "--per-file-ignores")
    return Overrides(selection, ignores, tuple(_words(wishes.extend_exclude)), wishes.ignore_noqa)


def _words(values: Iterable[str]) -> Iterator[str]:
    """The words of an option that may be given several times, with commas or spaces between words."""
    for value in values:
        yield from value.replace(",", " ").split()


def _print_findings(outcome: Outcome, output_format: str) -> None:
    from gradlint.report.paint import Paint

    paint = Paint.for_stream(sys.stdout)
    for line in _report(outcome, output_format, paint):
        click.echo(line, color=paint.enabled)


def _report(outcome: Outcome, output_format: str, paint: Paint) -> Iterator[str]:
    """The findings in the format asked for."""
    if output_format == "json":
        from gradlint.report.as_json import as_json
        from gradlint.report.rule_page import url_of
        from gradlint.rules.registry import all_rules

        yield as_json(outcome.findings, {rule.code: url_of(rule) for rule in all_rules()})
    elif output_format == "full":
        from gradlint.report.full import full

        yield from full(outcome.findings, outcome.texts, paint)
    else:
        from gradlint.report.concise import concise

        yield from concise(outcome.findings, paint)


def _remarks(outcome: Outcome, wishes: Wishes, *, files_were_expected: bool) -> Iterator[str]:
    """What goes to standard error beside errors."""
    from gradlint.report.summary import statistics, summary

    if wishes.statistics:
        yield from statistics(outcome)
    if wishes.quiet:
        return
    if outcome.files:
        yield summary(outcome)
    elif files_were_expected:
        yield "gradlint: no Python files found"
