"""The tape behind the tensor of a place on the command line, for `gradlint graph` and `gradlint leaves`."""

from __future__ import annotations

from pathlib import Path

from gradlint.domain.drawing import Drawing
from gradlint.entrypoints.placed import Placed, read_place, unusable
from gradlint.entrypoints.problem import Problem, config_errors_as_problems
from gradlint.graph import Undrawn
from gradlint.graph import graph as graph_of
from gradlint.settings.nearest import Configs
from gradlint.source.read import Unusable


def drawn(place: str) -> tuple[Placed, Drawing]:
    """Return what is drawn of a place; what cannot be drawn is a problem in one line."""
    at = read_place(place)
    if at.row is None:
        raise Problem(f"{at.file}: which line? Name it as in {at.file}:12")
    with config_errors_as_problems():
        config = Configs().of(Path(at.file).absolute().parent)
        found = graph_of(at.text, at.file, at.row, at.column, config)
    if isinstance(found, Unusable):
        raise unusable(at.file, found)
    if isinstance(found, Undrawn):
        raise Problem(f"{place}: {found.why}")
    return at, found
