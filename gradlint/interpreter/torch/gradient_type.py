"""The element type of gradients: `t.grad_dtype`, which leaves have.

Measured with torch 2.13: it is the type of the tensor until it is set, to a type or to None, which allows any.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.refusal.tensors import AttributeFixed
from gradlint.domain.state import State
from gradlint.domain.value import External, Ref, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import tensor_at

GRAD_DTYPE = "grad_dtype"


def refuses_type(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> bool:
    """Report that the type of gradients of a result is read or set; return True where torch raises."""
    if tensor_at(state, ref).leaf is not False or machine.tried:
        return False
    machine.emit(AttributeFixed(node, GRAD_DTYPE, "leaf"))
    return True


def read_type(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> Value:
    """t.grad_dtype"""
    refuses_type(machine, state, ref, node)
    return Unknown()


def type_of_gradient(state: State, ref: Ref) -> DType:
    """Return the type that a gradient must have; None where it may be any, or is not known."""
    chosen = state.facts.get(("set", ref, GRAD_DTYPE), state)
    if chosen is state:
        return tensor_at(state, ref).dtype
    return dtypes.named(chosen.path.removeprefix("torch.")) if isinstance(chosen, External) else None
