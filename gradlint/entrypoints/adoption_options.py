"""The options by which a project with many findings comes to use gradlint step by step: docs/adopting.md."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.entrypoints.decorating import with_options

_NEW = click.Path(path_type=Path)
_OPTIONS = (
    click.option("--baseline", metavar="FILE", help="Do not report the findings that stand in this file."),
    click.option("--write-baseline", type=_NEW, metavar="FILE", help="Write all findings to this file, and exit."),
    click.option("--add-noqa", is_flag=True, help="Write a `# gradlint: ignore[...]` to each line with findings."),
    click.option("--diff-base", metavar="REF", help="Report only what stands on lines changed since this git commit."),
)


adoption_options = with_options(_OPTIONS)
"""Add the options to a command."""
