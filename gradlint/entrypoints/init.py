"""`gradlint init`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gradlint.entrypoints.problem import Problem, complain, config_errors_as_problems
from gradlint.entrypoints.replacing import replace_file
from gradlint.settings.file import FILES, is_toml, table_in
from gradlint.settings.template import template

OWN, SHARED = FILES


@click.command()
@click.option("--stdout", is_flag=True, help="Print the gradlint.toml, and write nothing.")
def init(stdout: bool) -> None:
    """Write a configuration in which each key is explained and commented out.

    It is added to the pyproject.toml in the current directory or, if there is none, written to a new gradlint.toml.
    An existing configuration is not changed.
    """
    if stdout:
        click.echo(template(table=False), nl=False)
        return
    own, shared = Path(OWN), Path(SHARED)
    if os.path.lexists(own):
        raise Problem(f"{own} exists already; `gradlint init --stdout` prints what it would hold")
    try:
        if shared.is_file():
            _add_to(shared)
        else:
            replace_file(own, template(table=False).encode())
    except OSError as error:
        raise Problem(f"{error.filename}: cannot be written: {error.strerror or error}") from error
    complain(f"wrote {f'[tool.gradlint] in {shared}' if shared.is_file() else own}")


def _add_to(shared: Path) -> None:
    """Put the table at the end of a file that has none."""
    with config_errors_as_problems():
        table, entries = table_in(shared), shared.read_bytes()
    if table is not None:
        raise Problem(f"{shared} has a table [tool.gradlint] already; `gradlint init --stdout` prints all keys")
    end = "\r\n" if b"\r\n" in entries else "\n"
    gap = f"{end}{end}" if entries and not entries.endswith(b"\n") else end if entries else ""
    added = f"{gap}{template(table=True)}".replace("\r\n", "\n").replace("\n", end).encode()
    if not is_toml((entries + added).decode()):
        raise Problem(f"{shared}: [tool.gradlint] cannot be added, as `tool` is an inline table")
    replace_file(shared.resolve(), entries + added)
