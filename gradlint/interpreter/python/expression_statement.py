"""Expressions as statements: what a program names and does not use."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import Discarded
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.tensor import shown_tensor
from gradlint.source.core import Discard


def discard(machine: Machine, state: State, instr: Discard) -> None:
    """A method named and not called; a flag compared where it was to be set."""
    if instr.subject is None:
        assert isinstance(instr.node, cst.Attribute)
        machine.announce(state, Discarded(instr.node, instr.node.attr.value, machine.read(state, instr.value)))
    elif _is_flag(instr.node):
        subject = machine.read(state, instr.subject)
        if _tensor(machine, state, subject, "requires_grad"):
            faults.noticed(machine, "set-requires-grad-by-name", instr.node, "compared")


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
