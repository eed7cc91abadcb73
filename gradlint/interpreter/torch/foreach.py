"""`torch._foreach_add_(tensors, ...)` and its kin: one operation on each tensor of a list."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Sequence, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.tensor import known_tensor

PREFIX = "_foreach_"


def call_foreach(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Call the method on each tensor of the first list, with the other lists' items at the same index."""
    tensors = _tensors(machine, state, args.get(0, "self"))
    if tensors is None or args.open:
        return unknown_call(machine, state, args.values(), node)
    rest = args.positional[1:]
    method = name.removeprefix(PREFIX)
    results: list[Value] = []
    for index, tensor in enumerate(tensors):
        given = tuple(_at(machine, state, value, index) for value in rest)
        keywords = {key: _at(machine, state, value, index) for key, value in args.keywords.items() if key != "self"}
        results.append(call_tensor_method(machine, state, tensor, method, Args(given, keywords), node))
    return None if method.endswith("_") else state.new(Sequence(tuple(results)))


def _tensors(machine: Machine, state: State, value: Value) -> list[Ref] | None:
    """Return the tensors of a list of which all items are known."""
    items = _items(state, value)
    if items is None:
        return None
    found = [known_tensor(machine, state, item) for item in items]
    return [one for one in found if one is not None] if all(one is not None for one in found) else None


def _items(state: State, value: Value) -> tuple[Value, ...] | None:
    if type(value) is tuple:
        return value
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return record.items if isinstance(record, Sequence) and not record.open else None


def _at(machine: Machine, state: State, value: Value, index: int) -> Value:
    """Return what a further argument has for one tensor: its item of a list, or the number that is for all."""
    items = _items(state, value)
    if items is None:
        return value
    return items[index] if index < len(items) else machine.unknown()
