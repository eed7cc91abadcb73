"""What Python refuses of the values that torch gives: each is of one kind, and has what that kind has.

A tuple has no `sum`, an iterator no `[0]`, a tensor without dimensions no length; a tensor cannot be called. Where a
`try` stands around it, or another path comes with a value of another kind, nothing is said.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.kinds import Kind, Use, WrongCount, WrongKind
from gradlint.domain.state import State
from gradlint.domain.value import (
    Bound,
    External,
    Instance,
    NoGradient,
    Ref,
    Sequence,
    Suspended,
    Tensor,
    Unknown,
    Value,
)
from gradlint.facts.names import TENSOR, names_of
from gradlint.facts.traits import TAKES_ANYTHING
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.operation import Operation
from gradlint.interpreter.torch.tensor import is_of_torch, known_tensor, tensor_at

_HAVE: dict[Kind, frozenset[str]] = {"tuple": frozenset(dir(tuple)) | {"numel"}, "list": frozenset(dir(list))}
"""The attributes of a kind; `numel` is one of the tuples that are sizes."""

_LOADER = External("torch.utils.data.DataLoader")


def refuses_attribute(machine: Machine, state: State, value: Value, name: str, node: cst.CSTNode) -> bool:
    """Report what only tensors have, asked of a tuple or list; return whether Python raises."""
    kind = _container(state, value)
    if kind is None or name in _HAVE[kind] or name not in (names_of(TENSOR) or ()):
        return False
    return _refuse(machine, state, node, kind, "attribute", name)


def refuses_call(machine: Machine, state: State, function: Value, node: cst.CSTNode) -> bool:
    """Report the call of a tensor, a size or a gradient; return whether Python raises."""
    kind: Kind | None = None
    tensor = known_tensor(machine, state, function)
    if tensor is not None:
        kind = "tensor" if is_of_torch(tensor_at(state, tensor)) else None
    elif _is_size(machine, state, function):
        kind = "size"
    elif isinstance(function, NoGradient) or (isinstance(function, Unknown) and function.kind == "gradient"):
        kind = "gradient"
    return kind is not None and _refuse(machine, state, node, kind, "call")


def refuses_index(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report an index of an iterator, a loader, or a method of a tensor; return whether Python raises."""
    if isinstance(value, Bound):
        tensor = known_tensor(machine, state, value.receiver)
        known = tensor is not None and is_of_torch(tensor_at(state, tensor)) and isinstance(value.function, str)
        known = known and value.function in (names_of(TENSOR) or ())
        return known and _refuse(machine, state, node, "method", "index", str(value.function))
    kind = _lazy(state, value)
    return kind is not None and _refuse(machine, state, node, kind, "index")


def refuses_length(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report the length of an iterator, or of a tensor without dimensions; return whether Python raises."""
    if _is_scalar(machine, state, value):
        return _refuse(machine, state, node, "scalar", "length")
    return _lazy(state, value) == "iterator" and _refuse(machine, state, node, "iterator", "length")


def refuses_loop(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report a loop over a tensor without dimensions, or an unpacking of one; return whether Python raises."""
    return _is_scalar(machine, state, value) and _refuse(machine, state, node, "scalar", "loop")


def refuses_next(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report the next item of a loader, which is no iterator; return whether Python raises."""
    return _lazy(state, value) == "loader" and _refuse(machine, state, node, "loader", "next")


def refuses_operand(machine: Machine, state: State, left: Value, right: Value, node: cst.CSTNode) -> bool:
    """Report a text, tuple or list with which a tensor to its left does not compute; return whether Python raises."""
    name = "text" if isinstance(right, str) else _container(state, right)
    tensor = known_tensor(machine, state, left) if name is not None else None
    known = tensor is not None and is_of_torch(tensor_at(state, tensor))
    return known and _refuse(machine, state, node, "tensor", "operand", name or "")


def refuses_argument(call: Operation) -> bool:
    """Report a tuple, list or number as the `input` of an operation, which is a tensor; return whether torch raises."""
    first = call.overload[0] if call.overload else None
    if first is None or first.name != "input" or first.number or call.canonical in TAKES_ANYTHING:
        return False
    value = call.bound.get("input")
    kind: Kind | None = "number" if type(value) in (bool, int, float) else _container(call.state, value)
    return kind is not None and _refuse(call.machine, call.state, call.node, kind, "argument", call.name)


def refuses_count(machine: Machine, state: State, value: Value, count: int, star: bool, node: cst.CSTNode) -> bool:
    """Report a tuple or tensor that is unpacked into another number of names; return whether Python raises."""
    kind: Kind = "tuple"
    tensor = known_tensor(machine, state, value)
    if tensor is not None:
        record, kind = tensor_at(state, tensor), "tensor"
        given = record.shape[0] if record.shape and is_of_torch(record) else None
    else:
        given = len(value) if type(value) is tuple else None
    if not isinstance(given, int) or (given == count if not star else given >= count):
        _fits(machine, state, node)
        return False
    if not machine.tried:
        machine.emit(WrongCount(node, kind, count, given, star), (node, state.site, "kind"))
    return True


def _refuse(machine: Machine, state: State, node: cst.CSTNode, kind: Kind, use: Use, name: str = "") -> bool:
    if not machine.tried:
        machine.emit(WrongKind(node, kind, use, name), (node, state.site, "kind"))
    return True


def _fits(machine: Machine, state: State, node: cst.CSTNode) -> None:
    """Note that a path comes with a value that Python takes, by tests which may exclude one another."""
    if state.facts:
        machine.passes((node, state.site, "kind"))


def _container(state: State, value: Value) -> Kind | None:
    """Return the kind of a tuple or list; one that is empty may keep the place of something else."""
    if type(value) is tuple:
        return "tuple" if value else None
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return "list" if isinstance(record, Sequence) and record.kind == "list" and record.items else None


def _lazy(state: State, value: Value) -> Kind | None:
    """Return the kind of what gives its items one after the other only."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Suspended) or (isinstance(record, Sequence) and record.kind in ("iterator", "generator")):
        return "iterator"
    return "loader" if isinstance(record, Instance) and record.cls == _LOADER else None


def _is_scalar(machine: Machine, state: State, value: Value) -> bool:
    """Return whether a value is a tensor without dimensions, made by torch."""
    tensor = known_tensor(machine, state, value)
    return tensor is not None and (record := tensor_at(state, tensor)).shape == () and is_of_torch(record)


def _is_size(machine: Machine, state: State, value: Value) -> bool:
    """Return whether a value is the shape of a tensor, or a tuple."""
    key = value.key if isinstance(value, Unknown) else None
    owner = key[1] if key is not None and key[0] == "shape" else None
    record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
    return type(value) is tuple or (isinstance(record, Tensor) and is_of_torch(record))
