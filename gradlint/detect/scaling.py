"""Gradients of scaled losses: a `GradScaler` scales the loss, and unscales the gradients before its step uses them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect import gradient_use as use
from gradlint.detect.detector import Detector
from gradlint.domain import announcement
from gradlint.domain.fault import training_loop as fault
from gradlint.domain.graph import Tri
from gradlint.domain.state import PathFact, State
from gradlint.interpreter.torch.scaler import BYPASSED


class FilledBy(PathFact):
    """The key of the backward that filled the gradients of an optimizer, if nothing has used or cleared them since."""


class LossWasScaled(PathFact):
    """The key of whether the loss of that backward was scaled."""


class AreUnscaled(PathFact):
    """The key of whether these gradients are unscaled by now."""


class Filled(NamedTuple):
    """The gradients of an optimizer: the backward that filled them, whether of a scaled loss, whether unscaled since.

    Where paths that differ were joined it is None.
    """

    backward: cst.CSTNode
    scaled: Tri
    unscaled: Tri


@dataclass
class Scaled:
    """What is known of a run: the optimizers by address, and the numbers of the nodes of scaled losses."""

    optimizers: list[int] = field(default_factory=list)
    losses: set[int] = field(default_factory=set)


class ScalingDetector(Detector[Scaled]):
    """Follows gradients from the backward of a scaled loss to the step that uses them."""

    def aside(self) -> Scaled:
        """Know the optimizers that were made."""
        return Scaled(list(self.facts.optimizers), set(self.facts.losses))

    def on_optimizer_made(self, state: State, it: announcement.OptimizerMade) -> None:
        """Watch an optimizer."""
        self.facts.optimizers.append(it.optimizer.id)

    def on_optimizer_supposed(self, state: State, it: announcement.OptimizerSupposed) -> None:
        """Watch an optimizer."""
        self.facts.optimizers.append(it.optimizer.id)

    def on_loss_scaled(self, state: State, it: announcement.LossScaled) -> None:
        """Remember the root of a scaled loss."""
        self.facts.losses.add(it.made.id)

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note by which backward the gradients of each optimizer were filled, and whether its loss was scaled."""
        certain = {one.leaf for one in it.certain if one.leaf is not None and (it.only is None or one.leaf in it.only)}
        scaled = not self.facts.losses.isdisjoint(it.possible)
        for optimizer in self.facts.optimizers:
            if not it.raised and any(param.id in certain for param in use.params_of(state, optimizer)):
                state.decide(FilledBy(optimizer), it.node)
                state.decide(LossWasScaled(optimizer), scaled)
                state.decide(AreUnscaled(optimizer), False)
            else:
                self._forget(state, (optimizer,))

    def on_unscaled(self, state: State, it: announcement.Unscaled) -> None:
        """Note gradients as unscaled: by a step, too, if nothing has done so since the last update."""
        optimizer = it.optimizer.id
        filled = _filled(state, optimizer)
        if it.former == "nothing" and filled is not None and filled.scaled is False:
            self.report(fault.UnscaledWithoutScale(it.node, backward=filled.backward))
        unscaled = {param.id for param in use.params_of(state, optimizer)}
        for other in self.facts.optimizers:
            if other == optimizer or any(param.id in unscaled for param in use.params_of(state, other)):
                state.decide(AreUnscaled(other), True)
        if it.by == "step":
            self._forget(state, (optimizer,))

    def on_gradients_used(self, state: State, it: announcement.GradientsUsed) -> None:
        """Report a step that passes by the scaler."""
        filled = _filled(state, it.optimizer.id)
        if filled is not None and filled.scaled is True and it.closure is None:
            self.report(fault.SteppedScaled(it.node, backward=filled.backward, unscaled=filled.unscaled))
            self.machine.passes(BYPASSED)
        self._forget(state, (it.optimizer.id,))

    def on_clipped(self, state: State, it: announcement.Clipped) -> None:
        """Report gradients that are clipped while they are scaled. A bound of infinity only asks for the norm."""
        if not it.parameters or (isinstance(it.bound, float) and it.bound == float("inf")):
            return
        given = {param.id for param in it.parameters}
        clipped = [
            filled
            for one in self.facts.optimizers
            if (filled := _filled(state, one)) and any(param.id in given for param in use.params_of(state, one))
        ]
        # Another optimizer over the same network may be one of the past, whose gradients nobody unscales any more.
        if all(one.unscaled is False for one in clipped):
            for one in clipped:
                if one.scaled is True:
                    self.report(fault.ClippedScaled(it.node, backward=one.backward))

    def on_gradients_cleared(self, state: State, it: announcement.GradientsCleared) -> None:
        """Forget the gradients that are cleared."""
        cleared = {param.id for param in it.parameters}
        self._forget(
            state,
            [one for one in self.facts.optimizers if any(param.id in cleared for param in use.params_of(state, one))],
        )

    def on_gradient_dropped(self, state: State, it: announcement.GradientDropped) -> None:
        """Forget the gradients of an optimizer if one of them is cleared by hand."""
        self._forget(state, [one for one in self.facts.optimizers if it.parameter in use.params_of(state, one)])

    def on_gradients_invalidated(self, state: State, it: announcement.GradientsInvalidated) -> None:
        """Forget all gradients."""
        self._forget(state, self.facts.optimizers)

    def _forget(self, state: State, optimizers: Iterable[int]) -> None:
        for optimizer in optimizers:
            if FilledBy(optimizer) in state.facts:
                state.decide(FilledBy(optimizer), None)


def _filled(state: State, optimizer: int) -> Filled | None:
    backward = state.facts.get(FilledBy(optimizer))
    if not isinstance(backward, cst.CSTNode):
        return None
    scaled, unscaled = (state.facts.get(key(optimizer)) for key in (LossWasScaled, AreUnscaled))
    return Filled(
        backward,
        scaled if isinstance(scaled, bool) else None,
        unscaled if isinstance(unscaled, bool) else None,
    )
