"""`gradlint check [PATHS or -]`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradlint.check import FILE_SECONDS, Checker, check_content, check_paths
from gradlint.domain.finding import Finding
from gradlint.entrypoints.adopting import Adopting
from gradlint.entrypoints.adoption_options import adoption_options
from gradlint.entrypoints.fixing import broken, diff, shown, write_files
from gradlint.entrypoints.problem import complain, config_errors_as_problems, no_such_file
from gradlint.entrypoints.progress import ProgressBar
from gradlint.entrypoints.sandbox_options import sandbox_options
from gradlint.outcome import Outcome
from gradlint.report.as_json import as_json
from gradlint.report.concise import concise
from gradlint.report.full import full
from gradlint.report.paint import Paint
from gradlint.report.rule_page import url_of
from gradlint.report.summary import fixes, statistics, summary
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config, ConfigError, Overrides, parse_file_ignores
from gradlint.settings.file import FORMATS, check_words, load
from gradlint.settings.nearest import Configs
from gradlint.settings.selection import Selection
from gradlint.source.environment.place import interpreter

if TYPE_CHECKING:
    from gradlint.confirm.run.bubblewrap import Choice
    from gradlint.entrypoints.proving import Terms

STDIN = "-"
_SECONDS = click.FloatRange(min=0)
_SECONDS_HELP = "Confirm for so long, the most severe findings first."
_CONFIG = click.Path(exists=True, dir_okay=False, path_type=Path)


@dataclass(frozen=True)
class Options:
    """The options of the command line, as click hands them over."""

    paths: tuple[str, ...]
    select: tuple[str, ...]
    extend_select: tuple[str, ...]
    ignore: tuple[str, ...]
    per_file_ignores: tuple[str, ...]
    extend_exclude: tuple[str, ...]
    force_exclude: bool
    ignore_noqa: bool
    fix: bool | None
    unsafe_fixes: bool | None
    diff: bool
    show_fixes: bool
    fixable: tuple[str, ...]
    unfixable: tuple[str, ...]
    confirm: bool
    show_repro: bool
    only_confirmed: bool
    confirm_seconds: float
    sandbox: Choice
    trust: bool
    config: Path | None
    isolated: bool
    baseline: Path | None
    write_baseline: Path | None
    add_noqa: bool
    diff_base: str | None
    python: str | None
    no_environment: bool
    follow_links: bool
    file_seconds: float
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
@click.option("--fix/--no-fix", default=None, help="Rewrite files: make the fixes that keep the program's values.")
@click.option("--unsafe-fixes/--no-unsafe-fixes", default=None, help="Offer and make fixes that change values, too.")
@click.option("--diff", is_flag=True, help="Show what --fix would change; write nothing.")
@click.option("--show-fixes", is_flag=True, help="List the fixes that were made.")
@click.option("--confirm", is_flag=True, help="Let torch execute what each finding says, in a sandbox.")
@click.option("--show-repro", is_flag=True, help="Confirm, and print the program that shows each fault.")
@click.option("--only-confirmed", is_flag=True, help="Confirm, and report only what torch has shown.")
@click.option("--confirm-seconds", type=_SECONDS, default=60.0, show_default=True, metavar="N", help=_SECONDS_HELP)
@sandbox_options
@adoption_options
@click.option("--fixable", multiple=True, metavar="CODES", help="Fix only these.")
@click.option("--unfixable", multiple=True, metavar="CODES", help="Do not fix these.")
@click.option("--config", type=_CONFIG, help="Use this pyproject.toml or gradlint.toml.")
@click.option("--isolated", is_flag=True, help="Use no configuration file.")
@click.option("--python", metavar="PATH", help="Read the packages of this Python environment, as source.")
@click.option("--no-environment", is_flag=True, help="Read no installed packages.")
@click.option("--follow-links", is_flag=True, help="Read and fix what links lead to outside of the tree, too.")
@click.option(
    "--file-seconds",
    type=click.FloatRange(min=0),
    default=FILE_SECONDS,
    show_default=True,
    help="Give a file up that takes more of the processor's time; 0: never.",
)
@click.option("--stdin-filename", metavar="FILE", help="What to call standard input.")
@click.option("--output-format", type=click.Choice(FORMATS), help="How to write findings [default: concise].")
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors, nothing else.")
@click.option("--statistics", is_flag=True, help="Count findings by rule, and what could not be followed.")
@click.option("--traceback", is_flag=True, help="Show the whole traceback of an internal error.")
@click.pass_context
def check(context: click.Context, /, **options: Any) -> None:
    """Find autograd mistakes in files and directories; the default is the current directory.

    Exit code 0: no findings; 1: findings, or with --diff something to fix; 2: bad usage, a file that could not be
    written, or an error of gradlint itself.
    """
    with config_errors_as_problems():
        code = run(Options(**options))
    context.exit(code)


def run(options: Options) -> int:
    """Check, fix where asked to, print, and give the exit code."""
    configs = _configs(options)
    terms = _terms(options)
    adopting = _adopting(options, configs)
    missing = [path for path in options.paths if path != STDIN and not os.path.lexists(path)]
    piped = _piped(options)
    outcome = _check(options, [path for path in options.paths or (".",) if path not in missing], configs, piped, terms)
    outcome, unfixed = _settle(outcome, options, configs, piped)
    outcome, notes, unwritten = adopting.settle(outcome)
    outcome = _ask_torch(outcome, options, terms, options.output_format or configs.of(Path.cwd()).output_format)
    limit = f"given up after {options.file_seconds:g} s of processor time; `--file-seconds` gives a file more"
    problems = [
        *map(no_such_file, missing),
        *(f"{filename}: {limit}" for filename in outcome.late),
        *unfixed,
        *unwritten,
    ]
    for problem in problems:
        complain(f"error: {problem}")
    for crash in outcome.crashes:
        complain(f"internal error in {crash.filename}: {crash.summary}; please report it")
        if options.traceback:
            click.echo(crash.trace, err=True)
    for warning in outcome.warnings:
        complain(f"warning: {warning}")
    _print(outcome, options, configs, piped)
    for note in () if options.quiet else notes:
        click.echo(note, err=True)
    if problems or outcome.crashes:
        return 2
    found = bool(outcome.mended) if options.diff else any(finding.stands for finding in outcome.findings)
    return 1 if found and not options.exit_zero else 0


def _terms(options: Options) -> Terms | None:
    """On what terms torch is asked; None if it is not."""
    if not (options.confirm or options.show_repro or options.only_confirmed):
        return None

    from gradlint.entrypoints import proving

    return proving.Terms(options.sandbox, trust=options.trust, seconds=options.confirm_seconds)


def _ask_torch(outcome: Outcome, options: Options, terms: Terms | None, output_format: str) -> Outcome:
    """The findings with the verdicts of torch, where they are asked for."""
    if terms is None:
        return outcome

    from gradlint.entrypoints import proving

    bar = ProgressBar(sys.stderr, silent=options.quiet)
    try:
        outcome = proving.confirmed(outcome, bar, terms, repros=options.show_repro or output_format == "json")
    finally:
        bar.clear()
    return proving.only_confirmed(outcome) if options.only_confirmed else outcome


def _adopting(options: Options, configs: Configs) -> Adopting:
    """Return how much of what is found counts; what cannot be is refused before anything is checked."""
    baseline = options.baseline or (None if options.write_baseline else configs.of(Path.cwd()).baseline)
    rewrites = bool(options.fix or options.diff or STDIN in options.paths)
    return Adopting.of(baseline, options.write_baseline, options.diff_base, options.add_noqa, rewrites)


def _piped(options: Options) -> bytes | None:
    """Standard input, where it stands for a file."""
    if STDIN not in options.paths:
        return None
    if len(options.paths) > 1:
        raise ConfigError("`-` cannot be combined with paths: name either standard input or files")
    return sys.stdin.buffer.read()


def _check(options: Options, paths: list[str], configs: Configs, piped: bytes | None, terms: Terms | None) -> Outcome:
    bar = ProgressBar(sys.stderr, silent=options.quiet)
    with _proof(terms) as heals:

        def wanted(finding: Finding, config: Config, text: str) -> bool:
            return (options.diff or config.fix) and config.fixes(finding) and heals(finding, text)

        checker = Checker(wanted=wanted, seconds=options.file_seconds)
        if piped is not None:
            return check_content(piped, options.stdin_filename or STDIN, _piped_config(options, configs), checker)
        try:
            force = options.force_exclude
            return check_paths(paths, configs=configs, force_exclude=force, progress=bar, checker=checker)
        finally:
            bar.clear()


@contextmanager
def _proof(terms: Terms | None) -> Iterator[Callable[[Finding, str], bool]]:
    """What a fix has to pass: with --confirm, torch must show the fault before it and not after it."""
    if terms is None:
        yield lambda finding, text: True
        return

    from gradlint.entrypoints import proving

    with terms.prover(shrink=False) as torch:

        def heals(finding: Finding, text: str) -> bool:
            if terms.is_over:
                return False
            with terms.counted():
                return proving.healed(torch, finding, text)

        yield heals


def _piped_config(options: Options, configs: Configs) -> Config:
    return configs.of(Path(options.stdin_filename or STDIN).absolute().parent)


def _settle(outcome: Outcome, options: Options, configs: Configs, piped: bytes | None) -> tuple[Outcome, list[str]]:
    """Write mended texts, or show what would change; return what there is then, and a line for what went wrong."""
    problems = broken(outcome)
    if options.diff:
        click.echo("".join(diff(outcome, escaped=_is_read_by_people())), nl=False)
    elif piped is None:
        unwritten = write_files(outcome)
        problems += [f"{filename}: {why}" for filename, why in unwritten.items()]
        outcome = outcome.without_fixes(unwritten)
    elif _piped_config(options, configs).fix:
        mended = next(iter(outcome.mended.values()), None)
        text = piped.decode(errors="surrogateescape") if mended is None else mended.after
        click.echo(text.encode(errors="surrogateescape"), nl=False)
    return outcome, problems


def _is_read_by_people() -> bool:
    """Return whether a diff goes to a terminal or the log of GitHub Actions, and to no program that applies it."""
    return sys.stdout.isatty() or "GITHUB_ACTIONS" in os.environ


def _print(outcome: Outcome, options: Options, configs: Configs, piped: bytes | None) -> None:
    """The findings, unless a diff stands in for them; where a mended text takes standard output, beside it."""
    config = configs.of(Path.cwd())
    takes_output = piped is not None and _piped_config(options, configs).fix
    if not options.diff:
        paint = Paint.for_stream(sys.stderr if takes_output else sys.stdout)
        for line in _report(outcome, options, config, paint):
            click.echo(line, color=paint.enabled, err=takes_output)
    for line in _remarks(outcome, options, config):
        click.echo(line, err=True)


def _configs(options: Options) -> Configs:
    if options.config is not None and options.isolated:
        raise ConfigError("--config and --isolated exclude each other")
    if options.python is not None and options.no_environment:
        raise ConfigError("--python and --no-environment exclude each other")
    fixed = load(options.config) if options.config is not None else Config() if options.isolated else None
    return Configs(fixed, _overrides(options))


def _overrides(options: Options) -> Overrides:
    """What the command line says, its words checked."""
    ignores = parse_file_ignores(Path.cwd(), options.per_file_ignores)
    selection = Selection(
        select=tuple(_words(options.select)) if options.select else None,
        extend_select=tuple(_words(options.extend_select)),
        ignore=tuple(_words(options.ignore)),
    )
    check_words(selection.select or (), "--select")
    check_words(selection.extend_select, "--extend-select")
    check_words(selection.ignore, "--ignore")
    check_words((code for ignore in ignores for code in ignore.codes), "--per-file-ignores")
    fixable, unfixable = tuple(_words(options.fixable)), tuple(_words(options.unfixable))
    check_words(fixable, "--fixable")
    check_words(unfixable, "--unfixable")
    return Overrides(
        selection,
        ignores,
        exclude=tuple(_words(options.extend_exclude)),
        ignore_noqa=options.ignore_noqa,
        fix=options.fix,
        unsafe_fixes=options.unsafe_fixes,
        fixable=fixable or None,
        unfixable=unfixable,
        python=None if options.python is None else interpreter(options.python),
        no_environment=options.no_environment,
        follow_links=options.follow_links,
    )


def _words(values: Iterable[str]) -> Iterator[str]:
    """The words of an option that may be given several times, with commas or spaces between words."""
    for value in values:
        yield from value.replace(",", " ").split()


def _report(outcome: Outcome, options: Options, config: Config, paint: Paint) -> Iterator[str]:
    """Yield the findings in the format asked for."""
    output_format = options.output_format or config.output_format
    if output_format == "json":
        yield as_json(outcome.findings, {rule.code: url_of(rule) for rule in all_rules()})
    elif output_format == "full":
        yield from full(outcome.findings, outcome.texts, paint, config.fixes, repros=options.show_repro)
    else:
        yield from concise(outcome.findings, paint, config.fixes, repros=options.show_repro)


def _remarks(outcome: Outcome, options: Options, config: Config) -> Iterator[str]:
    """What goes to standard error beside errors."""
    if options.show_fixes:
        yield from shown(outcome)
    if options.statistics:
        yield from statistics(outcome)
    if options.quiet:
        return
    if outcome.files:
        yield summary(outcome)
        yield from fixes(outcome, config, only_shown=options.diff)
    elif not any(path != STDIN and not os.path.lexists(path) for path in options.paths):
        yield "gradlint: no Python files found"
