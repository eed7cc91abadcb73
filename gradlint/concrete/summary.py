"""What a watched run came to, as data."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable, Iterator

import torch

from gradlint.concrete.activations import Activations
from gradlint.concrete.alive import Alive
from gradlint.concrete.losses import SOUGHT as OF_LOSSES
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.training import SOUGHT as OF_THE_LOOP
from gradlint.concrete.watchers import WATCHERS
from gradlint.concrete.watching import Watch
from gradlint.domain.finding import Finding
from gradlint.domain.run import Rows, Run
from gradlint.judgement import shown
from gradlint.report.run.occurrence import digest
from gradlint.rules.registry import all_rules

SOUGHT = (*OF_THE_LOOP, *OF_LOSSES, *(fault for one in WATCHERS for fault in one.sought))
"""The faults of which torch says nothing, and that the machine looks for in all that it watches."""


def summary(watch: Watch, program: str, exit_code: int, findings: Iterable[Finding]) -> Run:
    """Return what a watch that has ended has to say of its run; `findings` are all that occurred."""
    machine, sampler, training = watch.machine, watch.sampler, watch.machine.training
    activations = next(one for one in machine.watchers if isinstance(one, Activations))
    alive = next(one for one in machine.watchers if isinstance(one, Alive))
    return Run(
        program=program,
        folder=os.getcwd(),
        torch=torch.__version__,
        exit_code=exit_code,
        iterations=sampler.done,
        watched=sampler.watched,
        samples=sampler.samples,
        operations=machine.operations,
        backwards=training.number,
        steps=training.steps,
        seconds=watch.clock.seconds,
        slowdown=watch.clock.slowdown,
        points=tuple(machine.measures.points),
        losses=tuple(machine.measures.losses),
        tensors=tuple(alive.points),
        holder=_said(alive.growing),
        parameters=tuple(machine.measures.series(activations.inactive)),
        unmeasured=machine.measures.failed,
        sought=tuple(rule.code for rule in all_rules() if any(issubclass(one, rule.events) for one in SOUGHT)),
        occurred=tuple((one.code, one.filename, *one.lines) for one in findings),
        files=dict(_files(machine.places.visited, machine.failed)),
    )


def _said(growing: tuple[str, Place | Spot | None] | None) -> str | None:
    """Return what holds ever more tensors, and where it grows."""
    if growing is None:
        return None
    path, place = growing
    return f"`{path}`" if place is None else f"`{path}` ({shown(place.filename)}:{place.row})"


def _files(places: Iterable[Place], failed: Iterable[Place]) -> Iterator[tuple[str, Rows]]:
    rows, raised = _rows(places), _rows(failed)
    for name, found in sorted(rows.items()):
        text = "".join(linecache.getlines(name))
        if text:
            yield shown(name), Rows(digest(text), tuple(sorted(found)), tuple(sorted(raised.get(name, ()))))


def _rows(places: Iterable[Place]) -> dict[str, set[int]]:
    rows: dict[str, set[int]] = {}
    for place in places:
        rows.setdefault(place.filename, set()).add(place.row)
    return rows
