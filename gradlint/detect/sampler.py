"""Samplers that are not told the epoch, and so give the data in the same order again."""

from __future__ import annotations

from dataclasses import dataclass

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import EpochSet, LoaderIterated, RunEnded
from gradlint.domain.fault.training_loop import EpochNotSet
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Instance


class EpochWalked(PathFact):
    """The mark of a sampler over whose data a loop went, and that has not been told another epoch since."""


@dataclass
class Epochs:
    """The last loop over data in the order of the epoch before, and how many backwards had run at its head."""

    repeated: EpochNotSet | None = None
    backwards: int = 0


class SamplerDetector(Detector[Epochs]):
    """Looks at loops over the data of a sampler that shuffles by the number of the epoch."""

    def on_epoch_set(self, state: State, it: EpochSet) -> None:
        """A sampler was told the epoch."""
        state.mark(EpochWalked(it.sampler.id), False)

    def on_loader_iterated(self, state: State, it: LoaderIterated) -> None:
        """Note a second loop over the same data, without `set_epoch` before it."""
        self._settle()
        record = None if it.sampler is None else state[it.sampler]
        if it.sampler is not None and isinstance(record, Instance) and record.config.get("shuffle") is True:
            walked = EpochWalked(it.sampler.id)
            if walked in state.marks:
                self.facts = Epochs(EpochNotSet(it.node, record.syntax), self.machine.backwards)
            state.mark(walked, True)

    def on_run_ended(self, state: State, it: RunEnded) -> None:
        """The last loop is over."""
        self._settle()

    def _settle(self) -> None:
        """Report what was noted at the head of a loop that trains; evaluation may see its data in any order."""
        if self.facts.repeated is not None and self.machine.backwards > self.facts.backwards:
            self.report(self.facts.repeated)
        self.facts.repeated = None
