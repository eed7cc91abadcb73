"""`gradlint run SCRIPT ...` and `gradlint run -m MODULE ...`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gradlint.concrete.schedule import Schedule
from gradlint.concrete.start import Ended, once_imported, run_module, run_script
from gradlint.entrypoints.output_options import output_options, refuse_file, write_output_file
from gradlint.entrypoints.problem import Problem, complain, config_errors_as_problems, no_such_file
from gradlint.entrypoints.sampling_options import sampling_options, schedule_of
from gradlint.entrypoints.settings_options import configs_of, settings_options
from gradlint.settings.nearest import Configs

if TYPE_CHECKING:
    from gradlint.concrete.watching import Watch

_NEVER = dict.fromkeys(("ignore_noqa", "follow_links", "fix", "fix_only", "unsafe_fixes"))
"""What only a check has options for."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@settings_options
@output_options
@sampling_options
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors only.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGUMENTS]...")
@click.pass_context
def run(context: click.Context, /, module: str | None, program: tuple[str, ...], **options: Any) -> None:
    """Run a program under torch, watch what autograd does, and report what goes wrong.

    Everything after the script, or after `-m MODULE`, is the program's. It runs in this process, with all rights that
    you have: this is no sandbox. Its output, its results and its exit code stay as they are; findings go to standard
    error, or to `--output-file`.
    """
    schedule = schedule_of(options)
    with config_errors_as_problems():
        configs = configs_of({**options, **_NEVER})
        refuse_file("--output-file", options["output_file"])
    watch = _Watching(os.getcwd(), schedule)
    once_imported(watch.begin)
    ended = run_script(_script(program), program[1:]) if module is None else run_module(module, program)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    watch.report(ended, configs, options)
    if isinstance(ended.error, KeyboardInterrupt):
        _interrupt()
    context.exit(ended.code)


def _script(program: tuple[str, ...]) -> str:
    """Return the script, if there is one that can be run."""
    if not program:
        raise click.UsageError("name a script, or a module with -m")
    script = program[0]
    if script.startswith("-"):
        raise click.NoSuchOption(script)
    if not os.path.lexists(script):
        raise Problem(no_such_file(script))
    if os.path.isdir(script):
        raise Problem(f"{script}: is a directory; name a script, or a module with -m")
    if not os.access(script, os.R_OK):
        raise Problem(f"{script}: cannot be read")
    return script


def _interrupt() -> None:
    """End by the signal, as Python does: shells look at how a program has ended."""
    sys.stderr.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


class _Watching:
    """The watch of a program, from when it imports torch to its end."""

    def __init__(self, folder: str, schedule: Schedule) -> None:
        self._folder, self._schedule = folder, schedule
        self._watch: Watch | None = None
        self._problem = "the program has not imported torch: nothing was watched"

    def begin(self) -> None:
        """Begin, if this torch and this thread can be watched. Nothing is raised into the program."""
        if threading.current_thread() is not threading.main_thread():
            self._problem = "torch is imported in another thread than the main one: nothing is watched"
            return
        try:
            from gradlint.concrete.places import Places
            from gradlint.concrete.watching import Watch

            self._watch = Watch(Places(), complain, self._schedule)
            self._watch.begin()
        except Exception as error:
            self._watch = None
            self._problem = f"this torch cannot be watched: {type(error).__name__}: {error}"

    def report(self, ended: Ended, configs: Configs, options: dict[str, Any]) -> None:
        """Write the findings; what goes wrong in that is said in one line."""
        watch = self._watch
        if watch is None:
            return complain(self._problem)
        try:
            watch.end(ended.error)
            with suppress(OSError):
                os.chdir(self._folder)
            self._write(watch, ended, configs, options)
        except Exception as error:
            complain(f"internal error: {type(error).__name__}: {error}; there is no report")

    def _write(self, watch: Watch, ended: Ended, configs: Configs, options: dict[str, Any]) -> None:
        from gradlint.concrete.findings import judged
        from gradlint.report.formats import writer
        from gradlint.report.paint import Paint
        from gradlint.report.paths import checkout
        from gradlint.report.report import Report
        from gradlint.report.summary import counted
        from gradlint.rules.registry import all_rules

        outcome = judged(watch.seen, configs, ended.error, scope=watch.scope).outcome
        output: Path | None = options["output_file"]
        paint = Paint.for_stream(sys.stderr if output is None else None, choice=options["color"])
        report = Report(outcome.findings, outcome.texts, all_rules(), configs.fixes, paint=paint, root=checkout())
        pieces: Iterable[str] = writer(options["output_format"] or configs.of(Path.cwd()).output_format)(report)
        if output is None:
            for piece in pieces:
                click.echo(piece, err=True, color=paint.enabled)
        elif (problem := write_output_file(output, pieces)) is not None:
            complain(f"error: {problem}")
        if watch.was_paused and isinstance(ended.error, RuntimeError):
            complain("the program failed while nothing was watched: `--all` watches all of it")
        if not options["quiet"]:
            complain(f"{watch.summary}; {counted(len(outcome.findings), 'finding')}")
