"""The `backward` of a custom function, run once aside on gradients that nobody knows, and judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Node, Tri
from gradlint.domain.state import State
from gradlint.domain.value import Bound, External, Function, Ref, Unknown, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at, unknown_tensor


class Inputs(NamedTuple):
    """What `apply` was given: the values, and which of them are tensors, with their writes before forward.

    At least so many were, if that is all that is known.
    """

    values: tuple[Value, ...]
    writes: dict[int, int]
    fewest: int

    def tensors(self, machine: Machine, state: State) -> list[tuple[int, Ref]]:
        """The tensors among the values, with their positions; forward may have shown more of them."""
        found = ((index, known_tensor(machine, state, value)) for index, value in enumerate(self.values))
        return [(index, ref) for index, ref in found if ref is not None]


def static_method(state: State, cls: Ref, name: str) -> Function | None:
    """A static method, or one that should be: torch calls it on the class all the same.

    None for one that gets the class as well.
    """
    value = find_in_class(state, cls, name)
    if isinstance(value, Bound) and value.receiver == External("builtins.staticmethod"):
        value = value.function
    return value if isinstance(value, Function) else None


def parts_of(result: Value) -> tuple[Value, ...]:
    return result if type(result) is tuple else (result,)


def look_at_backward(
    machine: Machine, state: State, cls: Ref, ctx: Ref, inputs: Inputs, result: Value, requires: Tri
) -> set[int]:
    """Run backward on unknown gradients; the positions of the inputs whose gradient is certainly None."""
    from gradlint.interpreter.python.calls import invoke

    backward = static_method(state, cls, "backward")
    if backward is None or requires is False:
        return set()
    aside = state.fork()
    aside.grad = None  # Off, unless the caller asks for a graph of the gradient.
    provisional = Node("apply", backward.code.node, tracked=requires)
    for value in parts_of(result):
        ref = known_tensor(machine, aside, value)
        if ref is not None and can_require_grad(tensor_at(aside, ref).dtype) is not False:
            aside.put(ref.id, tensor_at(aside, ref)._replace(node=provisional, grad=requires))
    gradients = [_gradient(machine, aside, value, backward.code.node) for value in parts_of(result)]
    first_exit, region = len(machine.exits), machine.open(aside)
    outcomes = invoke(machine, aside, backward, Args((ctx, *gradients)), backward.code.node)
    del machine.exits[first_exit:]
    machine.close([end for end, _ in outcomes], region)
    for end, _ in outcomes:
        _judge_writes(machine, end, gradients)
    found = [value for _, value in outcomes]
    if not found:
        return set()
    if all(_is_told(machine, end, value) for end, value in outcomes):
        _judge_count(machine, backward, inputs, found)
        _judge_use(machine, outcomes, backward, gradients, result, state)
    return set.intersection(*(_nones(value, len(inputs.values)) for value in found))


def _is_told(machine: Machine, state: State, value: Value) -> bool:
    """Whether it is known how many gradients a backward returned."""
    return value is None or type(value) is tuple or known_tensor(machine, state, value) is not None


def _gradient(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Ref:
    """The gradient that arrives for one result."""
    ref = unknown_tensor(state, node)
    record = known_tensor(machine, state, value)
    shape = None if record is None else tensor_at(state, record).shape
    dtype = None if record is None else tensor_at(state, record).dtype
    state.put(ref.id, tensor_at(state, ref)._replace(grad=False, shape=shape, dtype=dtype))
    return ref


def _judge_writes(machine: Machine, state: State, gradients: list[Ref]) -> None:
    """The gradient that arrives belongs to torch: others may be given the same one."""
    for ref in gradients:
        for write in state.writes(tensor_at(state, ref).counter):
            if write.certain:
                faults.noticed(machine, "gradient-inplace", write.syntax, write.op)


def _judge_count(machine: Machine, backward: Function, inputs: Inputs, found: list[Value]) -> None:
    """Torch wants a gradient for each argument that forward is given; further ones may be None."""
    expected = len(inputs.values)
    if all(_miscounted(value, inputs.fewest, expected) for value in found):
        got = len(parts_of(found[0]))
        faults.noticed(machine, "gradient-count", backward.code.node, f"{got} where it should return {expected}")


def _miscounted(value: Value, fewest: int, most: int) -> bool:
    parts = parts_of(value)
    # What is not known may be the None of an argument that was left out.
    return len(parts) < fewest or any(part is not None and not isinstance(part, Unknown) for part in parts[most:])


def _nones(value: Value, count: int) -> set[int]:
    return {index for index, part in enumerate(parts_of(value)[:count]) if part is None}


def _judge_use(
    machine: Machine,
    outcomes: list[tuple[State, Value]],
    backward: Function,
    gradients: list[Ref],
    result: Value,
    state: State,
) -> None:
    """What is returned for an input must depend on what arrives, unless it is constant."""
    if all(_ignores(machine, end, value, gradients) for end, value in outcomes):
        scalar = all(_may_be_scalar(machine, state, part) for part in parts_of(result))
        faults.noticed(machine, "gradient-ignored", backward.code.node, "scalar" if scalar else "")


def _may_be_scalar(machine: Machine, state: State, value: Value) -> bool:
    ref = known_tensor(machine, state, value)
    return ref is None or tensor_at(state, ref).shape in (None, (), (1,))


def _ignores(machine: Machine, state: State, value: Value, gradients: list[Ref]) -> bool:
    """Whether some gradient other than zero is returned, and none is computed from what arrives."""
    if any(ref.id in machine.escaped for ref in gradients):
        return False  # Code that gradlint does not see was given it, and may have filled what is returned.
    tensors = [known_tensor(machine, state, part) for part in parts_of(value) if part is not None]
    if not tensors or any(ref is None for ref in tensors):
        return False
    arrived = {tensor_at(state, ref).node.id for ref in gradients}
    roots = [tensor_at(state, ref).node for ref in tensors if ref is not None]
    nodes = [node for root in roots for node in _behind(root)]
    if any(node.id in arrived or node.op in _HIDING for node in nodes):
        return False
    if any(root.op.rpartition(".")[2] in _BLANK for root in roots):
        return False
    return any(node.live for node in nodes) or any(root.op.rpartition(".")[2] in _CONSTANT for root in roots)


_CONSTANT = frozenset({"ones", "ones_like", "full", "full_like", "new_ones", "new_full"})


_HIDING = frozenset({"call", "grad", "gradient"})
"""Nodes behind which more may stand than their edges tell."""

_BLANK = frozenset({"zeros", "zeros_like", "new_zeros", "empty", "empty_like", "new_empty", "new"})
"""What is returned as it was made is filled where gradlint does not look, or is to stop a gradient."""


_LIKE = re.compile(r"(?:\w+_like|new_\w+)$")
"""Operations that take the shape of a tensor, and not its values."""


def _behind(root: Node) -> Iterator[Node]:
    """All nodes that a value was computed from."""
    seen = {root.id}
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        for edge in () if _LIKE.search(node.op) else node.edges:
            if edge.node.id not in seen:
                seen.add(edge.node.id)
                stack.append(edge.node)
