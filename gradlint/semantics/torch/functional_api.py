"""`torch.autograd.functional`: derivatives of functions, which have a graph only with `create_graph=True`.

Measured with torch 2.13: without it the function is given detached copies of its inputs that require grad, and what
comes back is detached; an output that requires no grad gives zeros.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Value
from gradlint.semantics.args import Args, Native
from gradlint.semantics.calling import call_in_place
from gradlint.semantics.machine import Machine
from gradlint.semantics.program import origins
from gradlint.semantics.torch.bind import tensors_in
from gradlint.semantics.torch.tensor import known_tensor, new_leaf, new_tensor, tensor_at


def _derivative(place: int, pair: bool) -> Native:
    """A function of `torch.autograd.functional`; `create_graph` is its argument at a place.

    `pair`: it gives the function's result back, too.
    """

    def call(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        func, inputs = args.get(0, "func"), args.get(1, "inputs")
        given = tensors_in(machine, state, inputs)
        if args.open or not given or args.get(place, "create_graph", False) is not False:
            return machine.program.opaque(machine, state, args.values(), node)
        copies = {ref: _copied(state, ref, node) for ref in given}
        single = known_tensor(machine, state, inputs)
        fed: tuple[Value, ...] = tuple(copies.values()) if single is None else (copies[single],)
        result = call_in_place(machine, state, func, Args(fed), node)
        if single is None or known_tensor(machine, state, result) is None:
            return machine.unknown()
        derivative = _constant(machine, state, origins(state, (result, single)), node)
        return (_constant(machine, state, origins(state, (result,)), node), derivative) if pair else derivative

    return call


def _copied(state: State, ref: Ref, node: cst.CSTNode) -> Ref:
    """A detached copy of an input, which requires grad."""
    record = tensor_at(state, ref)
    return new_leaf(state, node, dtype=record.dtype, shape=record.shape, source=record.node, cut="detach")


def _constant(machine: Machine, state: State, behind: list[Node], node: cst.CSTNode) -> Ref:
    """A derivative without a graph."""
    made = Node("grad", node, [Edge(one, False, "grad") for one in behind if one.live], cut="grad")
    machine.ledger.gradients.add(made.id)
    return new_tensor(state, made, grad=False)


FUNCTIONAL: dict[str, Native] = {
    "torch.autograd.functional.jacobian": _derivative(2, pair=False),
    "torch.autograd.functional.hessian": _derivative(2, pair=False),
    **{f"torch.autograd.functional.{name}": _derivative(3, pair=True) for name in ("vjp", "jvp", "vhp", "hvp")},
}
"""By path. Derivatives of several inputs, in tuples, are not followed."""
