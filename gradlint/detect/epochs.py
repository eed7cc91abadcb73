"""Distributed samplers: each epoch has the order of the first, unless they are told its number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import EpochSet, LoaderIterated, RunEnded
from gradlint.domain.fault.training_loop import EpochNotSet
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import External, Instance, Ref
from gradlint.interpreter.torch.data_loader import SAMPLERS


@dataclass(frozen=True)
class Iterated(PathFact):
    """The mark of a sampler over whose data a loop has gone since it was told the epoch."""

    sampler: int


class Repeated(NamedTuple):
    """A loop in the order of the one before, and how many backwards had run when it began."""

    fault: EpochNotSet
    backwards: int


@dataclass
class Epochs:
    """The loop over data that began last, if it has the order of the one before."""

    repeated: Repeated | None = None


class EpochDetector(Detector[Epochs]):
    """Reports a second loop in the same order if it trains: evaluation may see its data in any order."""

    def begin(self) -> Epochs:
        """Begin without a loop."""
        return Epochs()

    def on_loader_iterated(self, state: State, it: LoaderIterated) -> None:
        """Judge the loop before, and look whether this one has the same order."""
        self._settle()
        record = state.heap.get(it.sampler.id) if isinstance(it.sampler, Ref) else None
        if not isinstance(it.sampler, Ref) or not isinstance(record, Instance):
            return
        if record.config.get("shuffle") is True and isinstance(record.cls, External) and record.cls.path in SAMPLERS:
            mark = Iterated(it.sampler.id)
            if mark in state.marks:
                fault = EpochNotSet(it.node, sampler=record.syntax)
                self.facts.repeated = Repeated(fault, self.machine.backwards)
            state.mark(mark, True)

    def on_epoch_set(self, state: State, it: EpochSet) -> None:
        """The next loop has an order of its own."""
        state.mark(Iterated(it.sampler.id), False)

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """Judge the last loop."""
        self._settle()

    def _settle(self) -> None:
        repeated, self.facts.repeated = self.facts.repeated, None
        if repeated is not None and self.machine.backwards > repeated.backwards:
            self.report(repeated.fault)
