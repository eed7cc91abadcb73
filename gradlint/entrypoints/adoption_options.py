"""The options by which a project with many findings comes to use gradlint step by step: docs/adopting.md."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.entrypoints.decorating import with_options

_NEW = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--baseline", metavar="FILE", help="Do not report the findings listed in this file."),
    click.option(
        "--write-baseline", type=_NEW, metavar="FILE", help="Write all findings to this file, and report none."
    ),
    click.option("--add-noqa", is_flag=True, help="Add a `# gradlint: ignore[...]` to each line with findings."),
    click.option("--diff-base", metavar="REF", help="Report only findings on lines changed since this git commit."),
)


adoption_options = with_options(_OPTIONS)
"""Add the options to a command."""
