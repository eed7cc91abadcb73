"""The functions of `torch.func` and `torch.autograd.functional`, by path."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Edge, Node
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.contexts import DUAL
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, tensor_at
from gradlint.interpreter.torch.transform import derivatives, mapping
from gradlint.interpreter.torch.transform.functional import functional, gradcheck
from gradlint.interpreter.torch.transform.inside import mismatch
from gradlint.interpreter.torch.transform.trees import no_tensor


def dual_level(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """with dual_level(): ..."""
    return Context("dual_level", syntax=node)


def enter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """enter_dual_level()"""
    if state.facts.get(DUAL, False) is True:
        return mismatch(machine, node, "enter_dual_level", "level-twice")
    state.decide(DUAL, True)
    return 0


def leave(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """exit_dual_level()"""
    inside = state.facts.get(DUAL, False)
    if inside is False:
        return mismatch(machine, node, "exit_dual_level", "level-missing")
    if inside is True:  # Whether one is open that somebody else has entered, only its end would tell.
        state.decide(DUAL, False)
    return None


def make_dual(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """make_dual(tensor, tangent)"""
    tensor = known_tensor(machine, state, args.get(0, "tensor"))
    tangent = known_tensor(machine, state, args.get(1, "tangent"))
    if tensor is None or args.has(2, "level") or args.open:
        return unknown_call(machine, state, args.values(), node)
    if state.facts.get(DUAL, False) is False and not machine.transforms:  # `torch.func.jvp` opens a level.
        return mismatch(machine, node, "make_dual", "dual-outside")
    record = tensor_at(state, tensor)
    if record.node.op == "make_dual":
        return mismatch(machine, node, "make_dual", "dual-twice")
    if can_require_grad(record.dtype) is False:
        return mismatch(machine, node, "make_dual", "dual-dtype", record.dtype)
    if tangent is not None and tensor_at(state, tangent).node.op == "make_dual":
        return mismatch(machine, node, "make_dual", "dual-tangent")
    other = no_tensor(state, args.get(1, "tangent"))
    if other is not None:
        return mismatch(machine, node, "make_dual", "dual-kind", other)
    if tangent is not None and can_require_grad(tensor_at(state, tangent).dtype) is False:
        return mismatch(machine, node, "make_dual", "dual-dtype", tensor_at(state, tangent).dtype)
    if tangent is not None and same_shape(tensor_at(state, tangent).shape, record.shape) is False:
        return mismatch(machine, node, "make_dual", "dual-shape")
    tracked = record.grad if state.grad else False if state.grad is False else None
    edges = [Edge(record.node, record.grad)]
    return new_tensor(
        state, Node("make_dual", node, edges, tracked=tracked), grad=tracked, dtype=record.dtype, shape=record.shape
    )


_TRANSFORMS: dict[str, Native] = {
    "grad": derivatives.transform("grad"),
    "grad_and_value": derivatives.transform("grad_and_value"),
    "jacrev": derivatives.transform("jacrev"),
    "jacfwd": derivatives.transform("jacfwd"),
    "hessian": derivatives.transform("hessian"),
    "vjp": derivatives.vjp,
    "jvp": derivatives.jvp,
    "linearize": derivatives.linearize,
    "vmap": mapping.vmap,
}

TRANSFORMS: dict[str, Native] = {
    **{f"{place}.{name}": native for place in ("torch.func", "functorch") for name, native in _TRANSFORMS.items()},
    "torch.vmap": mapping.vmap,
    derivatives.RUN: derivatives.call,
    derivatives.PULL: derivatives.pull,
    derivatives.PUSH: derivatives.push,
    mapping.RUN: mapping.call,
    **{
        f"torch.autograd.forward_ad.{name}": native
        for name, native in (
            ("dual_level", dual_level),
            ("enter_dual_level", enter),
            ("exit_dual_level", leave),
            ("make_dual", make_dual),
        )
    },
    **{
        f"torch.autograd.{place}{name}": gradcheck(name)
        for place in ("", "gradcheck.")
        for name in ("gradcheck", "gradgradcheck")
    },
    **{
        f"torch.autograd.functional.{name}": functional(name)
        for name in ("jacobian", "hessian", "vjp", "jvp", "vhp", "hvp")
    },
}
