"""The command line: `gradlint check`, `gradlint confirm`, `gradlint explain`, `gradlint rule`, `gradlint op`.

Each command stands in a file of its own and is loaded when it is asked for, so that starting up costs little.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from gradlint.report.printable import printable

COMMANDS = {
    "check": "Find autograd mistakes in files and directories.",
    "confirm": "Let torch execute what a finding says, and print the program that shows it.",
    "explain": "Show what is believed of each value on a line, and why.",
    "op": "Show what autograd knows about an operation of torch.",
    "rule": "Explain a rule, or all of them.",
}
INTERRUPTED = 130


class LazyGroup(click.Group):
    """A group whose commands are `gradlint.entrypoints.NAME:NAME`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, for the help page."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of this name."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"gradlint.entrypoints.{cmd_name}"), cmd_name)
        if not isinstance(command, click.Command):
            raise TypeError(f"gradlint.entrypoints.{cmd_name} must define the click command `{cmd_name}`")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        click.echo(f"gradlint {importlib.import_module('gradlint').__version__}")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def cli() -> None:
    """A linter that knows what autograd will do with your PyTorch code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line. Exit code 0: clean; 1: findings; 2: bad usage, or an error of gradlint itself."""
    _prepare_streams()
    try:
        _require_current_directory()
        with _let_stdout_close():
            code = cli.main(args=arguments, prog_name="gradlint", standalone_mode=False)
    except click.ClickException as error:
        return _complain(error)
    except (click.Abort, KeyboardInterrupt):
        print("gradlint: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        print(f"gradlint: internal error: {type(error).__name__}: {error}", file=sys.stderr)
        return 2
    return code if isinstance(code, int) else 0


def _complain(error: click.ClickException) -> int:
    """One line, which points to the help of the command where its usage was the mistake."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    where = f" (see `{context.command_path} --help`)" if context is not None else ""
    line = printable(f"gradlint: error: {error.format_message().rstrip('.')}{where}")
    print(error.format_message() if isinstance(error, click.exceptions.NoArgsIsHelpError) else line, file=sys.stderr)
    return 2


def _require_current_directory() -> None:
    """Names of files are read from the current directory on, also those of configuration files."""
    try:
        os.getcwd()
    except OSError as error:
        raise click.ClickException(f"the current directory cannot be read: {error.strerror}") from error


def _prepare_streams() -> None:
    """Let every finding be printed: what a terminal's encoding lacks is written with backslashes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def _let_stdout_close() -> Iterator[None]:
    """End quietly when the reader of standard output has gone, as with `| head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it exits, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
