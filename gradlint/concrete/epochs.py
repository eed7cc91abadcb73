"""What a loop over epochs tells torch: a sampler the number of the epoch, and a scheduler when it is to step."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch.utils.data import distributed

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.training_loop import EpochNotSet, SchedulerBeforeOptimizer

_REPEATS = 2
"""So many epochs in a row must have the order of the one before: a trial of a single epoch may come first."""


@dataclass
class Passes:
    """A sampler that shuffles: the `epoch` of its last pass, and how many had the same before, with a backward each."""

    sampler: weakref.ref[Any]
    epoch: int
    place: Place
    trained: bool = False
    repeats: int = 0


class Epochs(Watcher):
    """Follows distributed samplers, and the first steps of schedulers."""

    files = frozenset({distributed.__file__})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._passes: dict[int, Passes] = {}
        self._running: Passes | None = None
        self._early: list[tuple[weakref.ref[Any], Place]] = []
        self._found: dict[tuple[int, int], Seen] = {}

    def operated(self, it: Operation) -> None:
        """Note the beginning of a pass over the data: the sampler draws an order."""
        sampler = it.caller.f_locals.get("self")
        if it.name == "randperm" and isinstance(sampler, distributed.DistributedSampler):
            self._begins(sampler, it.place)

    def _begins(self, sampler: distributed.DistributedSampler[Any], place: Place) -> None:
        known = self._passes.get(id(sampler))
        if known is None or known.sampler() is not sampler:
            known = self._passes[id(sampler)] = Passes(weakref.ref(sampler), sampler.epoch, place)
        else:
            known.repeats = known.repeats + 1 if known.trained and known.epoch == sampler.epoch else 0
            known.epoch, known.place, known.trained = sampler.epoch, place, False
        self._running = known

    def backpropagated(self, call: Call, place: Place) -> None:
        """Note that the pass that has begun last trains."""
        if self._running is not None:
            known, self._running = self._running, None
            known.trained = True
            if known.repeats >= _REPEATS:
                self._found.setdefault(known.place.key, Seen(EpochNotSet, known.place, {"sampler": None}))

    def scheduler_steps(self, scheduler: Any, place: Place) -> None:
        """Note a first step before any of the optimizer: torch warns of it by the same conditions."""
        optimizer = getattr(scheduler, "optimizer", None)
        self.training.scheduled(optimizer, place)
        is_tracked = hasattr(getattr(optimizer, "step", None), "_wrapped_by_lr_sched")
        if is_tracked and scheduler._step_count == 1 and not getattr(optimizer, "_opt_called", False):
            self._early.append((weakref.ref(scheduler), place))

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """See whether a scheduler was one step ahead. More are no loop, and a scaler leaves out steps of its own."""
        early, self._early = self._early, []
        for reference, stepped in early:
            scheduler = reference()
            if scheduler is None:
                continue
            if scheduler.optimizer is not optimizer:
                self._early.append((reference, stepped))
            elif scheduler._step_count == 2 and not any(leaf.scaled or leaf.unscaled for leaf in leaves):
                self._found.setdefault(stepped.key, Seen(SchedulerBeforeOptimizer, stepped, {}))

    def paused(self) -> None:
        """Forget schedulers: their optimizers may step unseen."""
        self._early.clear()
        self._running = None

    def seen(self) -> Iterator[Seen]:
        """Yield what was found."""
        yield from self._found.values()
