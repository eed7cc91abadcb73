"""The `backward` of a custom function, run once aside on gradients that nobody knows."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import FunctionDifferentiated
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Node, Tri
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, External, Function, Ref, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.calls import invoke
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at, unknown_tensor


class Inputs(NamedTuple):
    """What `apply` was given: the values, and which of them are tensors, with their writes before forward.

    At least so many were, if that is all that is known.
    """

    values: tuple[Value, ...]
    writes: dict[int, int]
    fewest: int

    def tensors(self, machine: Machine, state: State) -> list[tuple[int, Ref]]:
        """Return the tensors among the values, with their positions; forward may have shown more of them."""
        found = ((index, known_tensor(machine, state, value)) for index, value in enumerate(self.values))
        return [(index, ref) for index, ref in found if ref is not None]


def static_method(state: State, cls: Ref, name: str) -> Function | None:
    """Return a static method, or one that should be: torch calls it on the class all the same.

    None for one that gets the class as well.
    """
    value = find_in_class(state, cls, name)
    if isinstance(value, Bound) and value.receiver == External("builtins.staticmethod"):
        value = value.function
    return value if isinstance(value, Function) else None


def parts_of(result: Value) -> tuple[Value, ...]:
    return result if type(result) is tuple else (result,)


def run_aside(
    machine: Machine, state: State, cls: Ref, ctx: Ref, inputs: Inputs, result: Value, requires: Tri
) -> set[int]:
    """Run backward on unknown gradients; the positions of the inputs whose gradient is certainly None."""
    backward = static_method(state, cls, "backward")
    if backward is None or requires is False:
        return set()
    node = backward.code.node
    aside = state.fork()
    aside.grad = None  # Off, unless the caller asks for a graph of the gradient.
    provisional = Node("apply", node, tracked=requires)
    for value in parts_of(result):
        ref = known_tensor(machine, aside, value)
        if ref is not None and can_require_grad(tensor_at(aside, ref).dtype) is not False:
            aside.put(ref.id, tensor_at(aside, ref)._replace(node=provisional, grad=requires))
    gradients = tuple(_gradient(machine, aside, value, node) for value in parts_of(result))
    first_exit, region = len(machine.exits), machine.open(aside)
    ends = invoke(machine, aside, backward, Args((ctx, *gradients)), node)
    del machine.exits[first_exit:]
    machine.close([end for end, _ in ends], region)
    machine.announce(state, FunctionDifferentiated(node, gradients, ends, result, len(inputs.values), inputs.fewest))
    return set.intersection(*(_nones(value, len(inputs.values)) for _, value in ends)) if ends else set()


def _gradient(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Ref:
    """Return the gradient that arrives for one result."""
    ref = unknown_tensor(state, node)
    record = known_tensor(machine, state, value)
    shape = None if record is None else tensor_at(state, record).shape
    dtype = None if record is None else tensor_at(state, record).dtype
    state.put(ref.id, tensor_at(state, ref)._replace(grad=False, shape=shape, dtype=dtype))
    return ref


def _nones(value: Value, count: int) -> set[int]:
    return {index for index, part in enumerate(parts_of(value)[:count]) if part is None}
