"""The command line: `gradlint check`, and the commands around it.

Each command stands in a file of its own and is loaded when it is asked for, so that starting up costs little.
"""

from __future__ import annotations

import errno
import gc
import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import click

from gradlint.entrypoints.later import load_later
from gradlint.entrypoints.suggestions import no_such_command, no_such_option
from gradlint.report.printable import printable
from gradlint.running import is_working

COMMANDS = {
    "check": "Find autograd mistakes in files and directories.",
    "clean": "Delete the cache of earlier runs.",
    "confirm": "Confirm findings by running torch, and print programs that reproduce them.",
    "explain": "Show what gradlint knows about each value on a line, and why.",
    "graph": "Draw the tape behind a loss, or any tensor, of a line.",
    "init": "Write a configuration file in which all keys are explained.",
    "leaves": "List which leaves get a gradient from the loss of a line, which not, and why.",
    "op": "Show what autograd knows about an operation of torch.",
    "rule": "Explain a rule, or all of them.",
    "rules": "List the rules.",
    "run": "Run a program under torch, and report what autograd does wrong.",
    "server": "Answer an editor by the Language Server Protocol.",
    "scan": "Check a corpus of repositories: datasets, archives, directories, packages.",
}
INTERRUPTED = 130
_UNWRITABLE = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG", "EIO") if hasattr(errno, name))
"""Errors of a stream; those of a file name it."""


class LazyGroup(click.Group):
    """A group whose commands are `gradlint.entrypoints.NAME:NAME`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, for the help page."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name == "check":  # It may find all results kept; what it does not find, one thread checks.
            load_later("libcst")
        command = getattr(importlib.import_module(f"gradlint.entrypoints.{cmd_name}"), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"gradlint.entrypoints.{cmd_name} must define the click command `{cmd_name}`")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the first argument names; a path there lacks `check` before it."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(no_such_command(args[0], COMMANDS), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


_VERSION_HELP = "Show the version, and the version of torch that gradlint knows."


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(importlib.import_module("gradlint.entrypoints.version").version())
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-V", "--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help=_VERSION_HELP)
def cli() -> None:
    """A linter that knows what autograd will do with your PyTorch code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code 0: clean; 1: findings; 2: bad usage, or an error of gradlint itself.

    An interrupt ends the process at once, with 130.
    """
    code = _run(arguments)
    if code == INTERRUPTED or is_working():  # Python would wait for the thread that works, or end by the signal.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                stream.flush()
        os._exit(code)
    if arguments is None:
        gc.freeze()  # The process ends, and Python would walk once more over all that it holds.
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        _prepare_streams()
        _require_current_directory()
        with _let_stdout_close():
            code = cli.main(args=arguments, prog_name="gradlint", standalone_mode=False)
    except click.ClickException as error:
        return _complain(error)
    except (click.Abort, KeyboardInterrupt):
        print("gradlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except SystemExit as leaving:  # By a signal that was made one.
        return leaving.code if isinstance(leaving.code, int) else 2
    except Exception as error:
        try:
            _require_current_directory()
        except click.ClickException as gone:
            return _complain(gone)
        traceback.print_exc()
        print(f"gradlint: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


def _complain(error: click.ClickException) -> int:
    """One line, which points to the help of the command where its usage was the mistake."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = f" (see `{context.command_path} --help`)" if context is not None else ""
    what = error.format_message()
    if isinstance(error, click.NoSuchOption):
        what = no_such_option(error.option_name, context)
    line = printable(f"gradlint: error: {what.rstrip('.')}{where}")
    print(error.format_message() if isinstance(error, click.exceptions.NoArgsIsHelpError) else line, file=sys.stderr)
    return 2


def _require_current_directory() -> None:
    """Names of files are read from the current directory on, also those of configuration files."""
    try:
        os.getcwd()
    except OSError as error:
        raise click.ClickException(f"the current directory cannot be read: {error.strerror}") from error


def _prepare_streams() -> None:
    """Let every finding be printed: what a terminal's encoding lacks is written with backslashes.

    A stream that was closed before the start is None, and the next file that is opened would take its place.
    """
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    if "stdout" in closed:
        raise click.ClickException("standard output is closed")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _let_stdout_close() -> Iterator[None]:
    """End quietly when the reader of standard output has gone, as with `| head`, and in one line where it is full."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _silence_stdout()
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _silence_stdout()
        raise click.ClickException(f"standard output cannot be written: {error.strerror}") from error


def _silence_stdout() -> None:
    """Python flushes once more when it exits, and would complain then."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
