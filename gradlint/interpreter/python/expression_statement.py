"""Expressions as statements: what a program names and does not use."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Bound, Function, Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.optim import OPTIMIZER_METHODS
from gradlint.interpreter.torch.parameters import module_base
from gradlint.interpreter.torch.tensor import shown_tensor
from gradlint.source.core import Discard

_OF_MODULES = frozenset({"train", "eval", "zero_grad", "requires_grad_", "cuda", "cpu", "half", "double", "float"})
_OF_TENSORS = frozenset({"backward", "detach_", "retain_grad", "requires_grad_"})
_TORCH_ONLY = frozenset({"zero_grad"})
"""Methods that nothing but torch's optimizers and modules has."""


def discard(machine: Machine, state: State, instr: Discard) -> None:
    """A method named and not called; a flag compared where it was to be set."""
    if instr.subject is None:
        assert isinstance(instr.node, cst.Attribute)
        if _is_method(machine, state, machine.read(state, instr.value), instr.node.attr.value):
            faults.noticed(machine, "method-not-called", instr.node)
    elif _is_flag(instr.node):
        subject = machine.read(state, instr.subject)
        if _tensor(machine, state, subject, "requires_grad"):
            faults.noticed(machine, "set-requires-grad-by-name", instr.node, "compared")


def _is_method(machine: Machine, state: State, value: Value, name: str) -> bool:
    """Whether a value is a method that only its effect gives a meaning."""
    if isinstance(value, Unknown):
        return name in _TORCH_ONLY and value.key is not None and value.key[0] == "attr"
    if not isinstance(value, Bound):
        return False
    receiver = value.receiver
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    if isinstance(record, Instance):
        if module_base(state, record) is not None:
            return name in _OF_MODULES
        return not isinstance(value.function, Function) and name in OPTIMIZER_METHODS
    writes = name.endswith("_") and not name.startswith("_")
    return (writes or name in _OF_TENSORS) and _tensor(machine, state, receiver, name)


def _tensor(machine: Machine, state: State, value: Value, name: str) -> bool:
    if isinstance(value, Unknown):
        return shown_tensor(machine, state, value, name) is not None
    return isinstance(value, Ref) and isinstance(state.heap.get(value.id), Tensor)


def _is_flag(node: cst.CSTNode) -> bool:
    """Whether a comparison is `x.requires_grad == ...`."""
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return False
    left, operator = node.left, node.comparisons[0].operator
    return isinstance(left, cst.Attribute) and left.attr.value == "requires_grad" and isinstance(operator, cst.Equal)


simple(Discard, discard)
