"""`gradlint run SCRIPT ...` and `gradlint run -m MODULE ...`."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from gradlint.concrete.places import Line, Places
from gradlint.concrete.schedule import Schedule
from gradlint.concrete.start import Ended, once_imported, run_module, run_script
from gradlint.entrypoints.output_options import output_options, refuse_file
from gradlint.entrypoints.problem import Problem, complain, config_errors_as_problems, no_such_file
from gradlint.entrypoints.sampling_options import sampling_options, schedule_of
from gradlint.entrypoints.settings_options import configs_of, settings_options
from gradlint.entrypoints.summary_options import refuse_summary, summary_options
from gradlint.entrypoints.tape_options import tape_options, wanted_tape
from gradlint.settings.nearest import Configs
from gradlint.source.documents.kinds import kind_of

if TYPE_CHECKING:
    from gradlint.concrete.watching import Watch

_NEVER = dict.fromkeys(("ignore_noqa", "follow_links", "fix", "fix_only", "unsafe_fixes"))
"""What only a check has options for."""


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("-m", "module", metavar="MODULE", help="Run a module, as `python -m` does.")
@settings_options
@output_options
@sampling_options
@summary_options
@tape_options
@click.option("-q", "--quiet", is_flag=True, help="Print findings and errors only.")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[SCRIPT] [ARGUMENTS]...")
@click.pass_context
def run(context: click.Context, /, module: str | None, program: tuple[str, ...], **options: Any) -> None:
    """Run a program under torch, watch what autograd does, and report what goes wrong.

    Everything after the script, or after `-m MODULE`, is the program's. It runs in this process, with all rights that
    you have: this is no sandbox. Its output, its results and its exit code stay as they are; findings go to standard
    error, or to `--output-file`. Where they cannot be written, a program that ends with 0 ends with 2.
    """
    schedule = schedule_of(options)
    with config_errors_as_problems():
        configs = configs_of({**options, **_NEVER})
        refuse_file("--output-file", options["output_file"])
        for file in options["summary"]:
            refuse_summary(file)
        wanted = wanted_tape(options)
    line = None if wanted is None else wanted.line
    watch, process = _Watching(os.getcwd(), schedule, options["checksums"], line), os.getpid()
    once_imported(watch.begin)
    ended = run_script(_script(program), program[1:]) if module is None else run_module(module, program)
    with suppress(BrokenPipeError):
        sys.stdout.flush()
    if os.getpid() != process:  # A forked process that has come to the end of the program, too.
        context.exit(ended.code)
    code = watch.report(ended, module or program[0], configs, {**options, "tape": wanted})
    if isinstance(ended.error, KeyboardInterrupt):
        _interrupt()
    context.exit(code)


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
    if kind_of(script) is not None:
        raise Problem(f"{script}: this runs Python files; in a notebook, watch a block with `gradlint.watch()`")
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

    def __init__(self, folder: str, schedule: Schedule, checksums: bool, line: Line | None) -> None:
        self._folder, self._schedule, self._checksums, self._line = folder, schedule, checksums, line
        self._watch: Watch | None = None
        self._problem = "the program has not imported torch: nothing was watched"

    def begin(self) -> None:
        """Begin, if this torch and this thread can be watched. Nothing is raised into the program."""
        if threading.current_thread() is not threading.main_thread():
            self._problem = "torch is imported in another thread than the main one: nothing is watched"
            return
        version = str(getattr(sys.modules["torch"], "__version__", ""))
        if [int(one) for one in re.findall(r"\d+", version)[:2]] < [2, 2]:
            self._problem = f"torch {version} is older than 2.2: nothing is watched"
            return
        try:
            from gradlint.concrete.watching import Watch

            self._watch = Watch(Places(), complain, self._schedule, checksums=self._checksums, line=self._line)
            self._watch.begin()
        except Exception as error:
            self._watch = None
            self._problem = f"this torch cannot be watched: {type(error).__name__}: {error}"

    def report(self, ended: Ended, program: str, configs: Configs, options: dict[str, Any]) -> int:
        """Write the findings, and return the exit code; what goes wrong in that is said in one line."""
        watch = self._watch
        if watch is None:
            absent = isinstance(ended.error, ModuleNotFoundError) and ended.error.name == "torch"
            complain("this Python has no torch: nothing was watched" if absent else self._problem)
            return ended.code
        try:
            watch.end(ended.error, whole=True)
            with suppress(OSError):
                os.chdir(self._folder)
            from gradlint.entrypoints.run_report import write

            return ended.code if write(watch, ended, program, configs, options) else ended.code or 2
        except Exception as error:
            complain(f"internal error: {type(error).__name__}: {error}; there is no report")
            return ended.code or 2
