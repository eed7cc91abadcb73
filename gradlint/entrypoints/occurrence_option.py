"""The option of `gradlint check` that names a run of the program."""

from __future__ import annotations

from pathlib import Path

import click

from gradlint.outcome import Outcome
from gradlint.report.run.occurrence import Occurrence
from gradlint.report.run.reading import read

OPTION = "--run"

occurrence_option = click.option(
    OPTION,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Say of each finding whether it was seen in a run, by what `gradlint run --summary FILE` has written.",
)


def occurrence_of(path: Path | None) -> Occurrence | None:
    """Return what occurred in the run of a file, if one is named."""
    return None if path is None else Occurrence(read(path, OPTION))


def marked(outcome: Outcome, occurrence: Occurrence | None, path: Path | None) -> tuple[Outcome, list[str]]:
    """Return the findings with what a run says of them, and a line for each file that has changed since."""
    if occurrence is None:
        return outcome, []
    outcome = occurrence.marked(outcome)
    return outcome, [f"{name} has changed since the run of {path}" for name in sorted(occurrence.changed)]
