"""`gradlint scan SOURCE --output DIR`."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import click

from gradlint.entrypoints.problem import Problem, complain, config_errors_as_problems
from gradlint.entrypoints.running_options import DIRECTORY, file_seconds_option, jobs_option
from gradlint.entrypoints.signals import signals_as_exits

_OUTPUT_HELP = "Write the results here, or continue with those that are here."
_ENGINE_HELP = "Check on this machine, or on a Ray cluster."
_ADDRESS_HELP = "The cluster; without it, Ray is started on this machine."
_SHARDS_HELP = "Divide the repositories into N shards; each is finished as a whole."
_MEMORY_HELP = "Give up on a file for which a process needs more memory; 0: never."


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option("--output", type=DIRECTORY, required=True, metavar="DIR", help=_OUTPUT_HELP)
@click.option("--engine", type=click.Choice(["local", "ray"]), default="local", show_default=True, help=_ENGINE_HELP)
@click.option("--ray-address", envvar="RAY_ADDRESS", metavar="ADDRESS", help=_ADDRESS_HELP)
@click.option("--repository-column", default="repository", show_default=True, metavar="NAME", help="Name of a column.")
@click.option("--path-column", default="path", show_default=True, metavar="NAME", help="Name of a column.")
@click.option("--content-column", default="content", show_default=True, metavar="NAME", help="Name of a column.")
@click.option("--shards", type=click.IntRange(min=1), default=64, show_default=True, metavar="N", help=_SHARDS_HELP)
@jobs_option
@file_seconds_option
@click.option(
    "--file-memory", type=click.IntRange(min=0), default=4096, show_default=True, metavar="MB", help=_MEMORY_HELP
)
@click.option("--retry", is_flag=True, help="Check repositories again of which a file was given up.")
@click.option("-q", "--quiet", is_flag=True, help="Print only errors.")
@click.pass_context
def scan(context: click.Context, /, **options: Any) -> None:
    """Check the Python files of a corpus.

    SOURCE is a Parquet or JSON Lines dataset, a tar archive, a directory of any of these, a directory of repositories,
    or packages:FILE, a list of packages of the index.

    Exit code 0: all was read, whatever was found; 2: bad usage, or part of the source could not be used; 130:
    interrupted.
    """
    _require("pyarrow", "scan")
    if options["engine"] == "ray":
        _require("ray", "ray")
    if options["file_memory"] and sys.platform != "linux":
        complain("warning: --file-memory has no effect here: it needs Linux")

    from gradlint.entrypoints import scanning

    with config_errors_as_problems(), signals_as_exits():
        code = scanning.run(scanning.Options(**options))
    context.exit(code)


def _require(module: str, extra: str) -> None:
    if importlib.util.find_spec(module) is None:
        raise Problem(f"`{module}` is not installed: pip install 'torch-gradlint[{extra}]'")
