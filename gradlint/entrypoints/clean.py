"""`gradlint clean`."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.entrypoints.problem import Problem, config_errors_as_problems
from gradlint.entrypoints.running_options import DIRECTORY
from gradlint.settings.nearest import Configs
from gradlint.source.kept import Keeping


@click.command()
@click.option(
    "--cache-dir",
    type=DIRECTORY,
    metavar="DIR",
    help="Delete this cache directory instead of .gradlint_cache.",
)
def clean(cache_dir: Path | None) -> None:
    """Delete the cache: .gradlint_cache, beside the configuration of the current directory."""
    with config_errors_as_problems():
        kept = Keeping(cache_dir).beside(Configs().of(Path.cwd()).root)
    try:
        removed = kept.remove()
    except OSError as error:
        raise Problem(f"{kept.folder} stays as it is: {error.strerror or error}") from None
    click.echo(f"Deleted {kept.folder}." if removed else f"There is no {kept.folder}.", err=True)
