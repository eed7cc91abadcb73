"""Modules that behave otherwise in evaluation: trained in training mode once, and in evaluation mode from then on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Backpropagated, ModeSwitched, ModuleCalled
from gradlint.domain.fault.training_loop import TrainModeMissing
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Ref, Tensor
from gradlint.interpreter.torch.parameters import modules_of

_TWO_FACED = ("torch.nn.Dropout", "torch.nn.AlphaDropout", "torch.nn.FeatureAlphaDropout", "torch.nn.BatchNorm")


class SwitchedOff(PathFact):
    """Where a module was sent to evaluation as a part of another, on this path."""


class Mode(NamedTuple):
    """How a module ran when it made a node: `switched` is where a module around it was sent to evaluation."""

    module: int
    training: bool
    switched: cst.CSTNode | None


@dataclass
class Modes:
    """In which mode a module made a node, by the node's number, and which modules were trained in training mode."""

    of_node: dict[int, Mode] = field(default_factory=dict)
    trained: set[tuple[int, cst.CSTNode]] = field(default_factory=set)


class TrainingModeDetector(Detector[Modes]):
    """Compares the modes in which one backward trains the same module."""

    def on_mode_switched(self, state: State, it: ModeSwitched) -> None:
        """Note what `eval()` of a model does to its parts; a part that is sent alone is meant."""
        for module, _ in list(modules_of(state, it.module)):
            key = SwitchedOff(module.id)
            switched = it.node if it.training is False and module != it.module else None
            if switched is not None or key in state.facts:
                state.decide(key, switched)

    def on_module_called(self, state: State, it: ModuleCalled) -> None:
        """Note the mode in which a module that knows two has made a tensor."""
        if not it.path.startswith(_TWO_FACED) or it.training is None or not isinstance(it.result, Ref):
            return
        made = state.heap.get(it.result.id)
        if isinstance(made, Tensor) and made.node.tracked is True:
            switched = state.facts.get(SwitchedOff(it.module.id))
            place = switched if isinstance(switched, cst.CSTNode) else None
            self.facts.of_node[made.node.id] = Mode(it.module.id, it.training, place)

    def on_backpropagated(self, state: State, it: Backpropagated) -> None:
        """Report a module that this backward trains in evaluation mode, and has trained in training mode before."""
        modes, trained = self.facts.of_node, self.facts.trained
        for node in it.certain if modes else ():
            mode = modes.get(node.id)
            if mode is None:
                continue
            if mode.training:
                trained.add((mode.module, it.node))
            elif mode.switched is not None and (mode.module, it.node) in trained:
                self.report(TrainModeMissing(mode.switched, backward=it.node))
                return
