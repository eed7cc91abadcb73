"""How far a `GradScaler` is with its optimizers since it was updated last."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.announcement import GradientsInvalidated
from gradlint.domain.state import LastingFact, State
from gradlint.domain.value import Ref
from gradlint.interpreter.machine import Machine

Stage: TypeAlias = Literal["unscaled", "stepped"]


class StagesOf(LastingFact):
    """The key of the `Stages` of a scaler."""

    def progress(self, fact: object) -> int:
        """Count the optimizers that have stepped."""
        return sum(stage == "stepped" for stage in fact.of.values()) if isinstance(fact, Stages) else 0


class Stages:
    """What a scaler has done last with each optimizer; of those that are missing nothing, or if not `whole`, anything.

    An object of its own, for facts are the same only if they are one.
    """

    def __init__(self, of: dict[int, Stage], whole: bool = True) -> None:
        self.of = of
        self.whole = whole


def stages_of(state: State, scaler: Ref) -> Stages:
    """Return what is known of a scaler: nothing where paths that differ in it were joined."""
    found = state.lasting(StagesOf(scaler.id))
    return found if isinstance(found, Stages) else Stages({}, whole=False)


def begin_stages(state: State, scaler: Ref) -> None:
    """The scaler is new, or was updated."""
    state.decide(StagesOf(scaler.id), Stages({}))


def enter_stage(state: State, scaler: Ref, optimizer: Ref, stage: Stage) -> None:
    """The scaler has got further with an optimizer."""
    stages = stages_of(state, scaler)
    state.decide(StagesOf(scaler.id), Stages({**stages.of, optimizer.id: stage}, stages.whole))


def forget_stages(state: State, scaler: Ref) -> None:
    """Anything may have been done with the scaler."""
    state.decide(StagesOf(scaler.id), None)


def invalidate_gradients(machine: Machine, state: State, node: cst.CSTNode) -> None:
    """Anything may have been done to any gradient, optimizer and scaler."""
    for key in [key for key in state.facts if isinstance(key, StagesOf)]:
        state.decide(key, None)
    machine.announce(state, GradientsInvalidated(node))
