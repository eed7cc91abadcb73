"""Python's operators on tensors."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import Differenced
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.facts.traits import OPERATORS
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.names import fact
from gradlint.interpreter.torch.tensor import known_tensor

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def tensor_operator(
    machine: Machine, state: State, op: str, left: Value, right: Value, node: cst.CSTNode, inplace: bool
) -> Value:
    """left op right, where at least one is a tensor. `x @= y` is the one augmented assignment that rebinds."""
    name = OPERATORS.get(op)
    if name is None:
        return unknown_call(machine, state, (left, right), node)
    if inplace and op != "@":
        entry = fact(f"Tensor.{name}_")
        if entry is not None:
            return apply(machine, state, entry, Args((left, right)), node)
    if known_tensor(machine, state, left) is None and not isinstance(left, Unknown):
        if op in _MIRRORED:
            name = OPERATORS[_MIRRORED[op]]
            left, right = right, left
        elif op in ("+", "*", "==", "!=", "&", "|", "^"):
            left, right = right, left
    if op == "-":
        machine.announce(state, Differenced(node, left, right))
    entry = fact(name)
    if entry is None or _not_arithmetic(state, left) or _not_arithmetic(state, right):
        return unknown_call(machine, state, (left, right), node)
    return apply(machine, state, entry, Args((left, right)), node)


def _not_arithmetic(state: State, value: Value) -> bool:
    """Return whether a value is something that torch's operators do not take."""
    if isinstance(value, Ref):
        return not isinstance(state[value], Tensor)
    return value is None or isinstance(value, str) or type(value) is tuple


def tensor_unary(machine: Machine, state: State, op: str, value: Ref, node: cst.CSTNode) -> Value:
    """-t, ~t, +t"""
    if op == "+":
        return value
    entry = fact("neg" if op == "-" else "bitwise_not")
    return machine.unknown() if entry is None else apply(machine, state, entry, Args((value,)), node)
