"""State dicts: they hold the parameters themselves, not copies, and so change with every step."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Instance, Mapping, Ref, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.parameters import SUPPOSED, parameters_of

FAULT = "state-dict-alias"


class Taken(NamedTuple):
    """A state dict: where it was taken, of what, and how often each parameter had been written by then."""

    node: cst.CSTNode
    owner: Value
    number: int
    writes: dict[int, int]


def note_taken(machine: Machine, state: State, owner: Value, made: Ref, node: cst.CSTNode) -> None:
    """owner.state_dict()"""
    writes: dict[int, int] = {}
    if isinstance(owner, Ref):
        for _, parameter in parameters_of(state, owner)[0]:
            record = state.heap[parameter.id]
            if isinstance(record, Tensor):
                writes[record.counter] = len(state.writes(record.counter))
    machine.ledger.taken[made.id] = Taken(node, owner, made.id, writes)


def taken_of_unknown(machine: Machine, state: State, owner: Unknown, node: cst.CSTNode) -> Ref:
    """The state dict of something that is not known."""
    made = state.new(Mapping({}, True))
    note_taken(machine, state, owner, made, node)
    return made


def note_copied(machine: Machine, original: Ref, copy: Ref) -> None:
    """A shallow copy holds the same parameters."""
    if original.id in machine.ledger.taken:
        machine.ledger.taken[copy.id] = machine.ledger.taken[original.id]


def note_loaded(machine: Machine, state: State, owner: Value, given: Value, node: cst.CSTNode) -> None:
    """owner.load_state_dict(given): its own parameters, which have been trained on since they were kept."""
    taken = _taken(machine, given)
    if taken is not None and taken.owner == owner and _trained_since(state, taken):
        related = [(node, "this loads what the model is already")]
        faults.noticed(machine, FAULT, taken.node, related=related)


def _taken(machine: Machine, value: Value) -> Taken | None:
    found = machine.ledger.taken.get(value.id) if isinstance(value, Ref) else None
    return found if isinstance(found, Taken) else None


def _trained_since(state: State, taken: Taken) -> bool:
    """Whether a step has certainly changed a parameter since; of what is not known, whether a backward ran since."""
    if isinstance(taken.owner, Unknown) or _stands_in(state, taken.owner):
        return state.trained > taken.number
    return any(
        what.certain and what.op == "optimizer.step"
        for counter, count in taken.writes.items()
        for what in state.writes(counter)[count:]
    )


def _stands_in(state: State, owner: Value) -> bool:
    """Whether a network stands in for one that is not known."""
    record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
    return isinstance(record, Instance) and SUPPOSED in record.config
