"""`gradlint check [PATHS or -]`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from gradlint.check import check_content, check_paths
from gradlint.checker import Checker
from gradlint.domain.finding import Finding
from gradlint.entrypoints import showing
from gradlint.entrypoints.adoption_options import adoption_options
from gradlint.entrypoints.fixing import broken, diff, shown, write_files
from gradlint.entrypoints.occurrence_option import marked, occurrence_of, occurrence_option
from gradlint.entrypoints.output_options import output_options, refuse_file, write_output_file
from gradlint.entrypoints.plugin_options import plugin_options
from gradlint.entrypoints.problem import complain, config_errors_as_problems, no_such_file
from gradlint.entrypoints.progress import ProgressBar
from gradlint.entrypoints.running_options import SECONDS, running_options
from gradlint.entrypoints.sandbox_options import sandbox_options
from gradlint.entrypoints.settings_options import configs_of, settings_options
from gradlint.entrypoints.showing import showing_options
from gradlint.outcome import Outcome
from gradlint.report.formats import writer
from gradlint.report.paint import Choice as Colour
from gradlint.report.paint import Paint
from gradlint.report.paths import checkout
from gradlint.report.report import Report
from gradlint.report.summary import fixes, leniency, more_may_follow, statistics, summary
from gradlint.results import Results, can_be_kept
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.nearest import Configs
from gradlint.source.documents.kinds import largest_of
from gradlint.source.kept import Keeping, Kept, secret

if TYPE_CHECKING:
    from gradlint.confirm.run.bubblewrap import Choice
    from gradlint.entrypoints.adopting import Adopting
    from gradlint.entrypoints.proving import Terms

Heals: TypeAlias = "Callable[[Finding, str], bool]"

STDIN = "-"
DATA = ("json", "json-lines", "html")
"""The formats that have the repros in any case."""
_SECONDS_HELP = "Stop confirming after N seconds; the most severe findings come first."


@dataclass(frozen=True)
class Options:
    """The options of the command line, as click hands them over."""

    configs: Configs
    paths: tuple[str, ...]
    force_exclude: bool
    ignore_noqa: bool
    fix: bool | None
    unsafe_fixes: bool | None
    fix_only: bool
    diff: bool
    show_fixes: bool
    confirm: bool
    show_repro: bool
    only_confirmed: bool
    confirm_seconds: float
    sandbox: Choice
    trust: bool
    run: Path | None
    baseline: str | None
    write_baseline: Path | None
    add_noqa: bool
    diff_base: str | None
    follow_links: bool
    file_seconds: float
    jobs: int
    no_cache: bool
    cache_dir: Path | None
    stdin_filename: str | None
    output_format: str | None
    output_file: Path | None
    color: Colour
    exit_zero: bool
    exit_non_zero_on_fix: bool
    quiet: bool
    statistics: bool
    traceback: bool


_OWN = [one.name for one in fields(Options) if one.name != "configs"]


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATHS | -]")
@settings_options
@click.option("--force-exclude", is_flag=True, help="Exclude files even if they are named.")
@click.option("--ignore-noqa", is_flag=True, help="Report findings that comments silence, too.")
@click.option("--fix/--no-fix", default=None, help="Rewrite files: apply the fixes that keep the program's values.")
@click.option(
    "--unsafe-fixes/--no-unsafe-fixes", default=None, help="Also offer and apply fixes that may change values."
)
@click.option("--fix-only", is_flag=True, help="Apply fixes; do not report or count the remaining findings.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and write nothing.")
@click.option("--show-fixes", is_flag=True, help="List the fixes that were applied.")
@click.option("--confirm", is_flag=True, help="Confirm each finding by running torch in a sandbox.")
@click.option("--show-repro", is_flag=True, help="Confirm, and print a program that reproduces each finding.")
@click.option("--only-confirmed", is_flag=True, help="Confirm, and report only confirmed findings.")
@click.option("--confirm-seconds", type=SECONDS, default=60.0, show_default=True, metavar="N", help=_SECONDS_HELP)
@sandbox_options
@occurrence_option
@adoption_options
@plugin_options
@click.option("--follow-links", is_flag=True, help="Also read and fix files outside of the tree to which links lead.")
@running_options
@click.option("--stdin-filename", metavar="FILE", help="The file name to use for standard input.")
@output_options
@showing_options
@click.option("--exit-zero", is_flag=True, help="Exit with 0 even if there are findings.")
@click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 if anything was fixed.")
@click.option("-q", "--quiet", is_flag=True, help="Print only findings and errors.")
@click.option("--statistics", is_flag=True, help="Count findings by rule, and what could not be followed.")
@click.option("--traceback", is_flag=True, help="Show the full traceback of an internal error.")
@click.pass_context
def check(context: click.Context, /, **options: Any) -> None:
    """Find autograd mistakes in files and directories; the default is the current directory.

    Exit code 0: no findings, or none that --fail-on counts; 1: findings, or with --diff something to fix; 2: bad usage,
    a file that could not be written, or an error of gradlint itself; 130: interrupted.
    """
    with config_errors_as_problems():
        configs, paths = configs_of(options), options["paths"] or (".",)
        if options["show_files"] or options["show_settings"]:
            if options["show_settings"]:
                lines = showing.settings(paths[0], configs)
            else:
                lines = showing.files(paths, configs, force_exclude=options["force_exclude"])
            click.echo("".join(f"{line}\n" for line in lines), nl=False)
            return
        code = run(Options(configs, **{name: options[name] for name in _OWN}))
    context.exit(code)


def run(options: Options) -> int:
    """Check, fix where asked to, print, and give the exit code."""
    if options.diff and options.output_file is not None:
        raise ConfigError("--diff and --output-file exclude each other: a diff goes to standard output")
    refuse_file("--output-file", options.output_file)
    refuse_file("--write-baseline", options.write_baseline)
    configs = options.configs
    occurrence, terms = occurrence_of(options.run), _terms(options)
    adopting = _adopting(options, configs)
    missing = [path for path in options.paths if path != STDIN and not os.path.lexists(path)]
    piped = _piped(options)
    paths = [path for path in options.paths or (".",) if path not in missing]
    outcome = _check(options, paths, configs, piped, terms)
    outcome, unfixed = _settle(outcome, options, configs, piped)
    if outcome.mended and piped is None and not (options.diff or options.fix_only):
        outcome = _check(options, paths, configs, None, None, mends=False).after(outcome)
    outcome, notes, unsettled = adopting.settle(outcome) if adopting is not None else (outcome, [], [])
    outcome, changed = marked(outcome, occurrence, options.run)
    outcome = _ask_torch(outcome, options, terms, options.output_format or configs.of(Path.cwd()).output_format)
    limit = f"given up after {options.file_seconds:g} s of processor time; `--file-seconds` gives a file more"
    problems = [
        *map(no_such_file, missing),
        *(f"{filename}: {limit}" for filename in outcome.late),
        *unfixed,
        *unsettled,
    ]
    for problem in problems:
        complain(f"error: {problem}")
    for crash in (*outcome.crashes, *outcome.house):
        complain(crash.line)
        if options.traceback:
            click.echo(crash.trace, err=True)
    for warning in (*outcome.warnings, *changed):
        complain(f"warning: {warning}")
    unwritten = _print(outcome, options, configs, piped)
    for note in () if options.quiet or options.diff else notes:
        click.echo(note, err=True)
    if problems or unwritten or outcome.crashes or outcome.house:
        return 2
    return 1 if _fails(outcome, options) else 0


def _fails(outcome: Outcome, options: Options) -> bool:
    """Return whether the exit code is 1, for what was found or for what was fixed."""
    fixed = any(mended.made for mended in outcome.mended.values())
    if options.exit_non_zero_on_fix and fixed:
        return True
    if options.diff:
        return bool(outcome.mended) and not options.exit_zero
    return not (options.exit_zero or options.fix_only) and any(map(options.configs.fails, outcome.findings))


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
        outcome = proving.confirmed(outcome, bar, terms, repros=options.show_repro or output_format in DATA)
    finally:
        bar.clear()
    return proving.only_confirmed(outcome) if options.only_confirmed else outcome


def _adopting(options: Options, configs: Configs) -> Adopting | None:
    """Return how much of what is found counts, None for all; what cannot be is refused before anything is checked."""
    is_read = options.baseline is not None or options.write_baseline is None
    baseline = configs.of(Path.cwd()).baseline if is_read else None
    if baseline is None and options.write_baseline is None and options.diff_base is None and not options.add_noqa:
        return None

    from gradlint.entrypoints.adopting import Adopting

    rewrites = bool(options.fix or options.diff or STDIN in options.paths)
    return Adopting.of(baseline, options.write_baseline, options.diff_base, options.add_noqa, rewrites)


def _piped(options: Options) -> bytes | None:
    """Standard input, where it stands for a file."""
    if STDIN not in options.paths:
        if options.stdin_filename is not None:
            raise ConfigError("--stdin-filename names standard input, which is read only with `-` as the path")
        return None
    if options.stdin_filename == "":
        raise ConfigError("--stdin-filename: the value is empty")
    if len(options.paths) > 1:
        raise ConfigError("`-` cannot be combined with paths: name either standard input or files")
    largest = largest_of(options.stdin_filename or STDIN)
    piped = sys.stdin.buffer.read(largest + 1)
    if len(piped) > largest:
        raise ConfigError(f"standard input has more than {largest:,} bytes")
    return piped


def _check(
    options: Options, paths: list[str], configs: Configs, piped: bytes | None, terms: Terms | None, mends: bool = True
) -> Outcome:
    bar = ProgressBar(sys.stderr, silent=options.quiet)
    with _proof(terms) as heals:
        keeping = Keeping(options.cache_dir, nowhere=options.no_cache)
        wanted = partial(_is_wanted, options.diff, heals) if mends else None
        checker = Checker(wanted=wanted, seconds=options.file_seconds, keeping=keeping)
        if piped is not None:
            return check_content(piped, options.stdin_filename or STDIN, _piped_config(options, configs), checker)
        try:
            force, jobs = options.force_exclude, options.jobs if heals is None else 1
            results = None if options.diff else _results(keeping, configs, checker)
            return check_paths(
                paths, configs=configs, force_exclude=force, progress=bar, checker=checker, results=results, jobs=jobs
            )
        finally:
            bar.clear()


def _results(keeping: Keeping, configs: Configs, checker: Checker) -> Results | None:
    """Return the results of earlier runs; None if none are to be used, or nothing shows who has left them."""
    if keeping.nowhere or not can_be_kept():
        return None
    key = secret(Kept(keeping.folder or Path(click.get_app_dir("gradlint"))))
    return None if key is None else Results(keeping.beside(configs.of(Path.cwd()).root), checker, key)


def _is_wanted(diff: bool, heals: Heals | None, finding: Finding, config: Config, text: str) -> bool:
    """Return whether a fix is to be made in a text."""
    return (diff or config.fix) and config.fixes(finding) and (heals is None or heals(finding, text))


@contextmanager
def _proof(terms: Terms | None) -> Iterator[Heals | None]:
    """What a fix has to pass, if anything: with --confirm, torch must show the fault before it and not after it."""
    if terms is None:
        yield None
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


def _print(outcome: Outcome, options: Options, configs: Configs, piped: bytes | None) -> bool:
    """The findings, unless a diff stands in for them; where a mended text takes standard output, beside it.

    Return whether they could not be written where they should go.
    """
    takes_output = piped is not None and _piped_config(options, configs).fix
    problem = None
    if options.output_file is not None:
        paint = Paint.for_stream(None, choice=options.color)
        problem = write_output_file(options.output_file, _report(outcome, options, configs, paint))
    elif not (options.diff or options.fix_only):
        paint = Paint.for_stream(sys.stderr if takes_output else sys.stdout, choice=options.color)
        lines = list(_report(outcome, options, configs, paint))
        if lines:  # At once: `echo` flushes each time.
            click.echo("\n".join(lines), color=paint.enabled, err=takes_output)
    if problem is not None:
        complain(f"error: {problem}")
    for line in _remarks(outcome, options):
        click.echo(line, err=True)
    return problem is not None


def _report(outcome: Outcome, options: Options, configs: Configs, paint: Paint) -> Iterable[str]:
    """Return the findings in the format asked for, in pieces."""
    name = options.output_format or configs.of(Path.cwd()).output_format
    report = Report(
        outcome.findings,
        outcome.texts,
        all_rules(),
        options.configs.fixes,
        paint=paint,
        repros=options.show_repro,
        root=checkout(),
    )
    if name == "html":  # The only one with pictures, for which each file is run once more.
        from gradlint.entrypoints.taped import tapes_of

        report = replace(report, tapes=tapes_of(report.standing, report.texts, configs))
    return writer(name)(report)


def _remarks(outcome: Outcome, options: Options) -> Iterator[str]:
    """What goes to standard error beside errors."""
    if options.show_fixes:
        yield from shown(outcome)
    if options.statistics:
        yield from statistics(outcome)
    if options.quiet or options.write_baseline is not None:
        return
    if outcome.files:
        if not options.diff:  # It shows what would change, and nothing of what is left.
            yield summary(outcome)
            yield from more_may_follow(outcome)
        if not (options.exit_zero or options.fix_only or options.diff or _fails(outcome, options)):
            yield from leniency(outcome, options.configs)
        yield from fixes(outcome, options.configs, only_shown=options.diff)
    elif not any(path != STDIN and not os.path.lexists(path) for path in options.paths):
        yield "gradlint: no Python files found"
