"""Losses that are backpropagated past the engine that wraps their network."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Backpropagated, PathsJoined, Prepared, TorchCalled
from gradlint.domain.fault.training_loop import EngineBypassed
from gradlint.domain.state import LastingFact, State
from gradlint.domain.value import Ref, Tensor
from gradlint.interpreter.torch.parameters import is_module, parameters_of


class HasPrepared(LastingFact):
    """The key of the call by which an engine has prepared networks on a path."""


@dataclass
class Wrapped:
    """Where leaves were wrapped, and the calls of the `backward` of torch itself."""

    leaves: dict[int, cst.CSTNode] = field(default_factory=dict)
    direct: set[cst.CSTNode] = field(default_factory=set)


class EngineDetector(Detector[Wrapped]):
    """Knows the parameters of the networks that an engine wraps."""

    def aside(self) -> Wrapped:
        """Know what is wrapped."""
        return Wrapped(dict(self.facts.leaves))

    def on_prepared(self, state: State, it: Prepared) -> None:
        """Note the parameters of networks."""
        for value in it.values:
            if isinstance(value, Ref) and is_module(state, value):
                state.decide(HasPrepared(), it.node)
                self.facts.leaves.update((one.id, it.node) for _, one in parameters_of(state, value)[0])

    def on_paths_joined(self, state: State, it: PathsJoined) -> None:
        """Note the leaves that have gone on for those that an engine wraps on another path."""
        leaves = self.facts.leaves
        leaves.update((one, leaves[other]) for one, other in it.objects.items() if other in leaves)

    def on_torch_called(self, state: State, it: TorchCalled) -> None:
        """Note the `backward` of a tensor: an engine has one, too."""
        record = None if it.receiver is None else state.heap.get(it.receiver.id)
        if it.name == "torch.autograd.backward" or (it.name == "backward" and isinstance(record, Tensor)):
            self.facts.direct.add(it.node)

    def on_backpropagated(self, state: State, it: Backpropagated) -> None:
        """Report a backward of torch that fills gradients of a network that is wrapped."""
        reached = (self.facts.leaves.get(one.leaf) for one in it.certain if one.leaf is not None)
        prepared = next(filter(None, reached), None)
        is_direct = it.node in self.facts.direct and not it.raised
        if prepared is not None and is_direct and state.lasting(HasPrepared()) is not None:
            self.report(EngineBypassed(it.node, prepared))
