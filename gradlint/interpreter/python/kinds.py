"""What Python refuses of the values that torch gives: each is of one kind, and has what that kind has.

A tuple has no `sum`, an iterator no `[0]`, a tensor without dimensions no length; a tensor cannot be called. Where a
`try` stands around it nothing is said.
"""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from gradlint.domain.refusal.kinds import Kind, Use, WrongCount, WrongKind
from gradlint.domain.shape import Dim
from gradlint.domain.state import MISSING, State
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
from gradlint.interpreter.torch.parameters import is_module_path
from gradlint.interpreter.torch.tensor import is_of_torch

OF_LISTS = frozenset(dir(list))
"""The attributes of lists; tuples have no others but those of sizes."""

_OF_SIZES = frozenset({"numel"})
_ITERATORS = frozenset({"iterator", "generator"})
_MODULE = "torch.nn.Module"
_LOADER = External("torch.utils.data.DataLoader")


def refuses_attribute(machine: Machine, state: State, value: Value, name: str, node: cst.CSTNode) -> bool:
    """Report what only tensors have, asked of a tuple or list that a call gives at once; return whether Python raises.

    A name may hold the place of something else: only the result of the call itself is certain.
    """
    if not isinstance(node, cst.Attribute) or not isinstance(node.value, cst.Call):
        return False
    if name in OF_LISTS or name in _OF_SIZES or name not in (names_of(TENSOR) or ()):
        return False
    kind = _container(state, value)
    if kind is None or kind == "layer":
        return False
    return not _is_complete(machine) or _refuse(machine, node, kind, "attribute", name)


def refuses_call(machine: Machine, state: State, function: Value, node: cst.CSTNode) -> bool:
    """Report the call of a tensor, a size or a gradient; return whether Python raises."""
    kind: Kind | None = None
    if type(function) is Unknown:
        of_tensor = function.key is not None and function.key[0] == "shape" and _is_tensor(state, function.key[1])
        kind = "size" if of_tensor else "gradient" if function.kind == "gradient" else None
    elif type(function) is tuple:
        kind = "size" if all(type(one) is int for one in function) else "tuple"
    elif type(function) is NoGradient:
        kind = "gradient"
    elif _is_tensor(state, function):
        kind = "tensor"
    return kind is not None and _refuse(machine, node, kind, "call")


def refuses_index(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report an index of an iterator, a loader, or a method of a tensor; return whether Python raises."""
    if type(value) is Bound:
        name = value.function
        known = isinstance(name, str) and name in (names_of(TENSOR) or ()) and _is_tensor(state, value.receiver)
        return known and _refuse(machine, node, "method", "index", str(name))
    kind = _lazy(state, value)
    return kind is not None and _refuse(machine, node, kind, "index")


def refuses_length(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report the length of an iterator, or of a tensor without dimensions; return whether Python raises."""
    if _is_scalar(state, value):
        return _refuse(machine, node, "scalar", "length")
    return _lazy(state, value) == "iterator" and _refuse(machine, node, "iterator", "length")


def refuses_loop(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report a loop over a tensor without dimensions, or an unpacking of one; return whether Python raises."""
    return _is_scalar(state, value) and _refuse(machine, node, "scalar", "loop")


def refuses_next(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> bool:
    """Report the next item of a loader, which is no iterator; return whether Python raises."""
    return _lazy(state, value) == "loader" and _refuse(machine, node, "loader", "next")


def refuses_operand(machine: Machine, state: State, left: Value, right: Value, node: cst.CSTNode) -> bool:
    """Report a text, tuple or list with which a tensor to its left does not compute; return whether Python raises."""
    if type(right) is Ref and type(state.heap[right.id]) is Tensor:
        return False
    name = "text" if type(right) is str else _container(state, right)
    return name is not None and _is_tensor(state, left) and _refuse(machine, node, "tensor", "operand", name)


def refuses_argument(call: Operation) -> bool:
    """Report what is no tensor as the `input` of an operation; return whether torch raises."""
    value = call.bound.get("input", MISSING)
    kind: Kind | None = "number" if type(value) in _NUMBERS else _container(call.state, value)
    first = call.overload[0] if call.overload else None
    if value is None and first is not None and not first.default:
        kind = "None"
    if kind is None:
        if call.state.facts:  # Another path may have come here by tests that exclude one another.
            call.machine.passes((*call.place, "kind"))
        return False
    if first is None or call.canonical in TAKES_ANYTHING or first.name != "input" or first.number:
        return False
    given = call.node.args[0].value if isinstance(call.node, cst.Call) and call.node.args else None
    if kind == "list" and not isinstance(given, (cst.Call, cst.List)):
        return False  # A decorator may have joined its items.
    certain = kind == "number" or _is_complete(call.machine)
    if kind == "None":
        certain = certain and _is_result(call.machine, given) and not call.state.undecided_since(0)
    if certain and not call.machine.tried:
        call.machine.emit(WrongKind(call.node, kind, "argument", call.name), (*call.place, "kind"))
    return True


def _is_result(machine: Machine, given: cst.CSTNode | None) -> bool:
    """Return whether an argument is a call, or a name that its function assigns: elsewhere None keeps a place."""
    params = {one.name for one in machine.stack[-1].params} if machine.stack else set()
    return isinstance(given, cst.Call) or (isinstance(given, cst.Name) and given.value not in params)


_NUMBERS = frozenset({bool, int, float})


def refuses_count(machine: Machine, state: State, value: Value, count: int, star: bool, node: cst.CSTNode) -> bool:
    """Report a tuple or tensor that is unpacked into another number of names; return whether Python raises."""
    record = state.heap[value.id] if type(value) is Ref else None
    given: Dim | None = None
    if type(value) is tuple:
        given = len(value) if all(type(one) is int or _is_tensor(state, one) for one in value) else None
    elif type(record) is Tensor and record.shape:
        given = record.shape[0]
    fits = type(given) is not int or (given >= count if star else given == count)
    if fits or not isinstance(given, int) or (type(record) is Tensor and not is_of_torch(record)):
        if state.facts:  # Another path may have come here by tests that exclude one another.
            machine.passes((node, state.site, "kind"))
        return False
    complete = type(value) is not tuple or (len(value) > 0 and _is_complete(machine))
    if complete and not machine.tried and not machine.differentiated:  # Another way through forward may save others.
        kind: Kind = "tuple" if type(value) is tuple else "tensor"
        machine.emit(WrongCount(node, kind, count, given, star), (node, state.site, "kind"))
    return True


def _is_complete(machine: Machine) -> bool:
    """Return whether no outcome of a call was dropped: it may have been a value of another kind, that fits."""
    return not machine.give_ups["paths dropped"]


def _refuse(machine: Machine, node: cst.CSTNode, kind: Kind, use: Use, name: str = "") -> bool:
    if not machine.tried:
        machine.emit(WrongKind(node, kind, use, name))
    return True


def _container(state: State, value: object) -> Kind | None:
    """Return the kind of a tuple, list or layer; a container that is empty may keep the place of something else."""
    if type(value) is tuple:
        return "tuple" if value else None
    record = state.heap[value.id] if type(value) is Ref else None
    if type(record) is Instance and isinstance(record.cls, External) and not record.module.foreign:
        return "layer" if record.cls.path != _MODULE and is_module_path(record.cls.path) else None
    return "list" if type(record) is Sequence and record.kind == "list" and record.items else None


def _lazy(state: State, value: Value) -> Kind | None:
    """Return the kind of what gives its items one after the other only."""
    record = state.heap[value.id] if type(value) is Ref else None
    if type(record) is Sequence:
        return "iterator" if record.kind in _ITERATORS else None
    if type(record) is Suspended:
        return "iterator"
    return "loader" if type(record) is Instance and record.cls == _LOADER else None


def _is_tensor(state: State, value: object) -> TypeGuard[Ref]:
    """Return whether a value is certainly a tensor of torch's own."""
    record = state.heap.get(value.id) if type(value) is Ref else None
    return type(record) is Tensor and is_of_torch(record)


def _is_scalar(state: State, value: Value) -> bool:
    """Return whether a value is a tensor of torch's own without dimensions."""
    record = state.heap.get(value.id) if type(value) is Ref else None
    return type(record) is Tensor and record.shape == () and is_of_torch(record)
