"""Dual tensors, which carry a tangent: of `make_dual`, and inside a function that `jvp` or `jacfwd` runs."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Ref
from gradlint.domain.walk import inputs, reachable
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import NO_FORWARD, SAVES_AS_LISTED
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import DUAL
from gradlint.interpreter.torch.tensor import tensor_at

MADE = frozenset({"make_dual", "dual"})
"""The operations that give a tensor its tangent."""


def refuses_dual(
    machine: Machine, state: State, refs: Iterable[Ref], reason: Mismatch, op: str, node: cst.CSTNode
) -> bool:
    """Return whether an operation raises because one of its tensors is dual."""
    if not has_dual(machine, state, refs):
        return False
    machine.emit(TransformMismatch(node, op, reason))
    return True


def has_dual(machine: Machine, state: State, refs: Iterable[Ref]) -> bool:
    """Return whether a tensor is certainly dual, inside a level."""
    forward = any(level.kind == "forward" or level.name == "hessian" for level in machine.transforms)
    if state.facts.get(DUAL) is not True and not forward:
        return False
    return any(_is_dual(tensor_at(state, ref).node) for ref in refs)


def refuses_forward(machine: Machine, state: State, name: str, refs: Iterable[Ref], node: cst.CSTNode) -> bool:
    """Return whether an operation without a derivative in forward mode is given a dual tensor."""
    if canonical(name) not in NO_FORWARD:
        return False
    return refuses_dual(machine, state, refs, "no-forward", bare(name), node)


def _is_dual(node: Node) -> bool:
    """Return whether a value certainly has a tangent: it comes from a dual one by operations that keep it."""
    return any(one.op in MADE for one in reachable([node], _keeping))


def _keeping(node: Node) -> Iterable[Node]:
    return inputs(node) if canonical(node.op) in SAVES_AS_LISTED else ()
