"""`python -m tests.torch_agrees N`: how far gradlint agrees with torch over N programs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from .measure import dump, measure, minimised
from .report import render, render_disagreement, smallest


@click.command()
@click.argument("count", type=int, default=500)
@click.option("--seed", default=0, help="The seed of the first program; the others follow.")
@click.option("--jobs", default=2, help="Worker processes.")
@click.option("--show", default=10, help="How many disagreements to minimise and print.")
@click.option("--dump", "directory", type=click.Path(path_type=Path), help="Write every program here.")
@click.option("--min-recall", default=0.0, help="Exit 1 below this recall, overall.")
@click.option("--min-class-recall", default=0.0, help="Exit 1 if the recall of a class is below this.")
@click.option("--max-alarms", default=1.0, help="Exit 1 above this share of false alarms.")
def main(
    count: int,
    seed: int,
    jobs: int,
    show: int,
    directory: Path | None,
    min_recall: float,
    min_class_recall: float,
    max_alarms: float,
) -> None:
    """Generate COUNT programs, run them under torch, lint them, and print where the two disagree."""
    score = measure(range(seed, seed + count), jobs)
    click.echo(render(score))
    if directory is not None:
        dump(score, directory)
    for source, case in minimised(smallest(score.disagreements, show), jobs):
        click.echo("\n" + render_disagreement(case, source, case.outcome))
    classes = {case.outcome.error for case in score.failing}
    good = (
        score.recall() >= min_recall
        and all(score.recall(error) >= min_class_recall for error in classes)
        and score.false_alarm_rate <= max_alarms
        and not score.crashed
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
