"""The leaves and modules that a program has frozen: they required grad, and their flag was switched off."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import all_attributes, contents


def note_flag(machine: Machine, record: Tensor, wanted: bool | None, syntax: cst.CSTNode) -> None:
    """The flag of a leaf is set: it is frozen from now on, or trained again."""
    leaf = record.node.leaf
    if leaf is None:
        return
    if wanted is not False:
        machine.frozen.pop(leaf, None)
    elif record.grad is True:
        machine.frozen[leaf] = syntax


def note_whole(machine: Machine, module: Ref, wanted: bool | None, syntax: cst.CSTNode) -> None:
    """The flags of all parameters of a module are set, of those as well that are not known."""
    if wanted is False:
        machine.frozen[module.id] = syntax
    else:
        machine.frozen.pop(module.id, None)


def thaw(machine: Machine, state: State, values: Iterable[Value]) -> None:
    """Something unknown is given what is frozen: it may switch it on again."""
    left = {leaf for leaf in machine.frozen if is_off(state, leaf)}
    for value in contents(state, values, all_attributes, calls=True):
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and not isinstance(record, Tensor):
            machine.frozen.pop(value.id, None)
        if isinstance(value, Ref) and isinstance(record, Tensor) and record.node.leaf in left:
            left.discard(record.node.leaf)
            machine.frozen.pop(record.node.leaf)
            state.put(value.id, record._replace(grad=None))


def is_off(state: State, leaf: int) -> bool:
    """Return whether a leaf certainly does not require grad."""
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is False
