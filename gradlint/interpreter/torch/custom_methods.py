"""The methods of a custom function: what they take and return, and what a backward does with unknown gradients."""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import FunctionDifferentiated
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Node, Tri
from gradlint.domain.refusal.functions import (
    Role,
)
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Function,
    Instance,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.domain.walk import inputs as inputs_of
from gradlint.domain.walk import reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ARITHMETIC, RANDOM
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.calls import invoke
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.ctx import ctx_state
from gradlint.interpreter.torch.reentrant import Reentering
from gradlint.interpreter.torch.tensor import (
    known_tensor,
    tensor_at,
    unknown_tensor,
)


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


class Aside(NamedTuple):
    """What a backward does with unknown gradients.

    `ignored` are the positions of the inputs whose gradient is certainly None. `constant`: the gradients of all others
    have no graph, but through those that arrive. `raises` is the method if Python raises on every way through it.
    `reenters`: it calls a backward itself. `random`: on every way, a gradient is computed from random numbers.
    """

    ignored: set[int] = set()  # noqa: RUF012 -- never changed
    constant: bool = False
    raises: cst.CSTNode | None = None
    reenters: Reentering | None = None
    random: bool = False


def run_aside(
    machine: Machine,
    state: State,
    cls: Ref,
    ctx: Ref,
    inputs: Inputs,
    result: Value,
    requires: Tri,
    place: cst.CSTNode,
) -> Aside:
    """Run backward on unknown gradients."""
    name: Role = "backward" if find_in_class(state, cls, "backward") is not None else "vjp"
    backward = static_method(state, cls, name)
    if backward is None or requires is False:
        return Aside()
    node = backward.code.node
    given = 1 + len(parts_of(result))
    if _is_complete(machine, state, result) and refuses_arguments(machine, backward, given, name, place):
        return Aside()
    aside = state.fork()
    aside.grad = None  # Off, unless the caller asks for a graph of the gradient.
    provisional = Node("apply", node, tracked=requires)
    for value in parts_of(result):
        ref = known_tensor(machine, aside, value)
        if ref is not None and can_require_grad(tensor_at(aside, ref).dtype) is not False:
            aside.put(ref.id, tensor_at(aside, ref)._replace(node=provisional, grad=requires))
    gradients = tuple(_gradient(machine, aside, value, node) for value in parts_of(result))
    incoming = tuple(tensor_at(aside, ref).node for ref in gradients)
    first_exit, region = len(machine.exits), machine.open(aside)
    forward = static_method(state, cls, "forward")
    if find_in_class(state, cls, "__init__") is not None:
        # A class of old torch: `self` was the context, and had the attributes that its constructor set.
        aside.put(ctx.id, aside.at(ctx, Instance)._replace(open=True))
    machine.differentiated[ctx.id] = None if forward is None else forward.code.node
    asked = machine.asked
    ends = invoke(machine, aside, backward, Args((ctx, *gradients)), node)
    del machine.differentiated[ctx.id]
    raises = node if not ends and {one.kind for one in machine.exits[first_exit:]} == {"raise"} else None
    del machine.exits[first_exit:]
    machine.close([end for end, _ in ends], region)
    if len(gradients) > 1 and ctx_state(state, ctx).materializes is not True:
        ends = [(end, _some_absent(value, len(inputs.values))) for end, value in ends]
    machine.announce(
        state,
        FunctionDifferentiated(node, gradients, incoming, provisional, ends, result, inputs.values, inputs.fewest),
    )
    nones = ({place for place, part in enumerate(parts_of(value)) if part is None} for _, value in ends)
    ignored = set.intersection(set(range(len(inputs.values))), *nones) if ends else set()
    constant = bool(ends) and all(_is_constant(machine, end, value) for end, value in ends)
    arrived = tuple((tensor_at(aside, ref).shape, tensor_at(aside, ref).dtype) for ref in gradients)
    reenters = None if asked == machine.asked else Reentering(backward, ctx, arrived)
    random = bool(ends) and all(any(_is_random(end, part) for part in parts_of(value)) for end, value in ends)
    return Aside(ignored, constant, raises, reenters, random)


def _some_absent(value: Value, wanted: int) -> Value:
    """Return what backward returns if gradients that arrive may be None: those beyond the wanted, too."""
    parts = parts_of(value)
    return value if len(parts) <= wanted else (*parts[:wanted], *(Unknown() for _ in parts[wanted:]))


def _is_constant(machine: Machine, state: State, value: Value) -> bool:
    """Return whether gradients have no graph, whatever the caller asks for."""
    for part in parts_of(value):
        ref = known_tensor(machine, state, part)
        if part is not None and (ref is None or ref.id in machine.escaped or tensor_at(state, ref).grad is not False):
            return False
    return True


def _is_random(state: State, value: Value) -> bool:
    """Return whether a gradient is certainly computed from random numbers, element by element."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(record, Tensor):
        return False
    made = reachable([record.node], lambda node: inputs_of(node) if canonical(node.op) in ARITHMETIC else ())
    return any(canonical(one.op) in RANDOM for one in made)


def _is_complete(machine: Machine, state: State, result: Value) -> bool:
    """Return whether it is known how many results forward gave."""
    return type(result) is tuple or result is None or known_tensor(machine, state, result) is not None


def _gradient(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Ref:
    """Return the gradient that arrives for one result."""
    ref, of = unknown_tensor(state, node), known_tensor(machine, state, value)
    shape, dtype = (None, None) if of is None else (tensor_at(state, of).shape, tensor_at(state, of).dtype)
    state.put(ref.id, tensor_at(state, ref)._replace(grad=False, shape=shape, dtype=dtype))
    return ref
