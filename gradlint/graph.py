"""Draw the tape behind a tensor of a line: for `gradlint graph`, `gradlint leaves`, and pages of findings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

import libcst as cst

from gradlint.domain.drawing import MOST_NODES, Drawing, Spot
from gradlint.domain.frozen import Frozen
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.tapes import ASSIGNED, Candidate, Tapes
from gradlint.interpreter.watching import code
from gradlint.observing import environment_of, observe
from gradlint.running import no_collection, with_deep_stack
from gradlint.settings.config import Config
from gradlint.source.files import Unit
from gradlint.source.place import Places
from gradlint.source.read import Unusable


class Undrawn(Frozen):
    """Why there is nothing to draw, in a sentence without its subject."""

    why: str


def graph(
    text: str, filename: str, row: int, column: int | None = None, config: Config | None = None
) -> Drawing | Undrawn | Unusable:
    """Run a file, and draw the tape behind the tensor of a row.

    Rows and columns count from 1. The tensor is the root of a backward there, else what the row gives to a variable,
    else the last that it reads or computes; `column` picks those expressions that begin there. Of several paths and
    iterations the first counts on which a backward would raise, or else the first.
    """
    used = environment_of(config)
    with no_collection():
        return with_deep_stack(lambda: _graph(text, filename, row, column, used))


def _graph(text: str, filename: str, row: int, column: int | None, config: Config) -> Drawing | Undrawn | Unusable:
    tapes = _tapes(text, filename, (row,), column, config)
    if isinstance(tapes, Unusable):
        return tapes
    return _chosen(tapes.candidates) if tapes.candidates else Undrawn(_nothing(tapes, column))


def graphs(text: str, filename: str, rows: Collection[int], config: Config | None = None) -> Mapping[int, Drawing]:
    """Run a file once, and draw of each row what `graph` draws there; rows without a tensor are left out."""
    used = environment_of(config)
    with no_collection():
        tapes = with_deep_stack(lambda: _tapes(text, filename, rows, None, used))
    if isinstance(tapes, Unusable):
        return {}
    by_row: defaultdict[int, list[Candidate]] = defaultdict(list)
    for one in tapes.candidates:
        by_row[one.row].append(one)
    chosen = {row: _chosen(candidates) for row, candidates in by_row.items()}
    return {row: one for row, one in chosen.items() if isinstance(one, Drawing)}


def _tapes(text: str, filename: str, rows: Collection[int], column: int | None, config: Config) -> Tapes | Unusable:
    def watcher(unit: Unit, places: Places) -> Tapes:
        atlas = _Atlas(unit, places)
        return Tapes(filename, rows, column, cache(atlas.row), atlas.column, atlas.locate)

    observed = observe(text, filename, config, watcher)
    return observed if isinstance(observed, Unusable) else observed[1]


def _nothing(tapes: Tapes, column: int | None) -> str:
    """Say why a row has no tensor."""
    if column is not None:
        return "no expression that is known to be a tensor begins there"
    known = ", ".join(f"`{name}`" for name in tapes.others)
    return f"no tensor is known there, only {known}" if known else "no tensor is known there"


def _chosen(candidates: Sequence[Candidate]) -> Drawing | Undrawn:
    best = max((one.reason, one.has_graph) for one in candidates)
    worthy = [one for one in candidates if (one.reason, one.has_graph) == best]
    title = worthy[0].title if best[0] >= ASSIGNED else list(dict.fromkeys(one.title for one in worthy))[-1]
    found = {_shape(one.drawing): one.drawing for one in reversed(worthy) if one.title == title}
    drawn = [one for one in reversed(found.values()) if one is not None]
    if not drawn:
        return Undrawn(f"the graph of `{title}` has more than {MOST_NODES:,} nodes, too many to draw")
    first = next((one for one in drawn if any(step.raises for step in one.steps)), drawn[0])
    return replace(first, others=len(found) - 1)


def _shape(drawing: Drawing | None) -> Drawing | None:
    """Return what makes a drawing another one: all but the versions, which move on in each iteration."""
    if drawing is None:
        return None
    steps = (
        replace(step, saves=tuple(replace(one, version=None, now=None) for one in step.saves)) for step in drawing.steps
    )
    return replace(drawing, steps=tuple(steps))


class _Atlas:
    """Where nodes stand: in the file itself, or in others that the run has led through by then."""

    def __init__(self, unit: Unit, home: Places) -> None:
        self._unit, self._home = unit, home
        self._spots: dict[cst.CSTNode, Spot | None] = {}

    def row(self, node: cst.CSTNode) -> int | None:
        """Return the row of a node of the file itself."""
        return self._home.span(node).start.row if node in self._home else None

    def column(self, node: cst.CSTNode) -> int:
        """Return the column of a node of the file itself."""
        return self._home.span(node).start.column

    def locate(self, machine: Machine, node: cst.CSTNode | None) -> Spot | None:
        """Return the place of a node; None for one that stands nowhere."""
        if node is None:
            return None
        if node not in self._spots:
            self._spots[node] = self._find(machine, node)
        return self._spots[node]

    def _find(self, machine: Machine, node: cst.CSTNode) -> Spot | None:
        if node in self._home:
            return Spot(self._home.span(node).start.row, code(node))
        loading = machine.program.loading
        for unit in () if loading is None else loading.units():
            if not isinstance(unit.ranges, Places):
                unit.ranges = Places(unit.module, unit.rows)
            if node in unit.ranges:
                return Spot(unit.ranges.span(node).start.row, code(node), unit.file)
        return None
