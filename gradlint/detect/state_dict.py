"""State dicts: they hold the parameters themselves, not copies, and so change with every step."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import ContainerCopied, Differenced, StateDictLoaded, StateDictTaken
from gradlint.domain.fault.training_loop import ParameterMinusItself, StateDictAlias
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.torch.parameters import parameters_of


class Taken(NamedTuple):
    """A state dict: where it was taken, of what, and how often each parameter had been written by then."""

    node: cst.CSTNode
    owner: Value
    number: int
    writes: dict[int, int]


class StateDictDetector(Detector[dict[int, Taken]]):
    """Knows the state dicts that were taken, by their address."""

    def on_state_dict_taken(self, state: State, it: StateDictTaken) -> None:
        """Count the writes that each parameter has seen by now."""
        writes: dict[int, int] = {}
        for _, parameter in parameters_of(state, it.owner)[0] if isinstance(it.owner, Ref) else ():
            record = state.heap[parameter.id]
            if isinstance(record, Tensor):
                writes[record.counter] = len(state.writes(record.counter))
        self.facts[it.made.id] = Taken(it.node, it.owner, it.made.id, writes)

    def on_container_copied(self, state: State, it: ContainerCopied) -> None:
        """A shallow copy holds the same parameters."""
        if it.original.id in self.facts:
            self.facts[it.copy.id] = self.facts[it.original.id]

    def on_state_dict_loaded(self, state: State, it: StateDictLoaded) -> None:
        """Report a model that loads its own parameters, which have been trained on since they were kept."""
        taken = self.facts.get(it.given.id) if isinstance(it.given, Ref) else None
        if taken is not None and taken.owner == it.owner and _trained_since(state, taken):
            self.report(StateDictAlias(taken.node, loaded=it.node))

    def on_differenced(self, state: State, it: Differenced) -> None:
        """Report a parameter minus what was kept of it under another name, and is the parameter itself."""
        record = state.heap.get(it.left.id) if isinstance(it.left, Ref) and it.left == it.right else None
        if not isinstance(it.node, cst.BinaryOperation) or not isinstance(record, Tensor) or not record.parameter:
            return
        if record.grad is True and not it.node.left.deep_equals(it.node.right):
            self.report(ParameterMinusItself(it.node, parameter=record.syntax))


def _trained_since(state: State, taken: Taken) -> bool:
    """Return whether a step has certainly changed a parameter since; of what is not known, whether a backward ran
    since.
    """
    if isinstance(taken.owner, Unknown) or _stands_in(state, taken.owner):
        return state.trained > taken.number
    return any(
        what.certain and what.op == "optimizer.step"
        for counter, count in taken.writes.items()
        for what in state.writes(counter)[count:]
    )


def _stands_in(state: State, owner: Value) -> bool:
    """Return whether a network stands in for one that is not known."""
    record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
    return isinstance(record, Instance) and record.module.torn is not None
