"""A drawing in one of the formats of `gradlint graph`, and why it cannot be written in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import click

from gradlint.domain.drawing import Drawing
from gradlint.entrypoints.problem import Problem
from gradlint.report.drawing.data import as_json
from gradlint.report.drawing.dot import as_dot
from gradlint.report.drawing.fold import folded
from gradlint.report.drawing.layout import can_lay_out
from gradlint.report.drawing.mermaid import as_mermaid
from gradlint.report.drawing.page import as_page
from gradlint.report.drawing.svg import MOST_BOXES, TooManyBoxesError, as_svg
from gradlint.report.drawing.tree import as_tree

FORMATS: Mapping[str, Callable[[Drawing], str]] = {
    "text": as_tree,
    "dot": as_dot,
    "mermaid": as_mermaid,
    "svg": as_svg,
    "html": as_page,
    "json": as_json,
}

depth_option = click.option(
    "--depth",
    type=click.IntRange(0),
    metavar="N",
    help="Fold what happens in calls of functions and modules below N levels into one node each; by default none.",
)


def refuse_form(form: str) -> None:
    """Raise a `Problem` for a format that needs a library which is not installed."""
    if form in ("svg", "html") and not can_lay_out():
        raise Problem(
            f"{form} needs a library that lays out graphs: `pip install torch-gradlint[graph]`, or Graphviz and its "
            "Python binding `graphviz`"
        )


def rendered(place: str, drawing: Drawing, form: str, depth: int | None) -> str:
    """Return a drawing in a format; what is too large for a picture is a problem in one line."""
    shown = drawing if depth is None else folded(drawing, depth)
    refuse_form(form)
    try:
        return FORMATS[form](shown)
    except TooManyBoxesError as error:
        raise Problem(
            f"{place}: {len(shown.steps):,} nodes are too many for a picture of at most {MOST_BOXES}: fold calls by "
            "--depth, or take another format"
        ) from error
