"""Nested tuples, lists and dicts of tensors, as `torch.func` takes them apart."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import TypeAlias

import libcst as cst

from gradlint.domain.refusal.transform import TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Class, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import NO_TENSOR, is_scalar

Shape: TypeAlias = "tuple[Shape, ...] | str"
"""How a value is nested: `*` for a leaf, and for each container its kind and its items."""
_ROOM = 1 << 16
"""A container shares its room among its items, and is opened while it has any: it may hold another twice, or itself."""


def leaves(state: State, value: Value, room: int = _ROOM) -> list[Value] | None:
    """Return the leaves of a nested value; None where there may be others."""
    items = _items(state, value, room)
    if items is None:
        return None
    if items is _LEAF:
        return [value]
    found: list[Value] = []
    for item in items:
        below = leaves(state, item, _left(room, items))
        if below is None:
            return None
        found.extend(below)
    return found


_LEAF: tuple[Value, ...] = ("leaf",)


def _left(room: int, items: Sized) -> int:
    return room // (len(items) + 1)


def _items(state: State, value: Value, room: int) -> tuple[Value, ...] | None:
    if type(value) is tuple:
        return value if room else None
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Sequence):
        return None if not room or record.open or record.kind not in ("list", "deque") else record.items
    if isinstance(record, Mapping):
        return None if not room or record.open else tuple(record.items.values())
    return None if isinstance(value, Unknown) and value.kind is None else _LEAF


def structure(state: State, value: Value, room: int = _ROOM) -> Shape | None:
    """Return how a value is nested, where that is known."""
    items = _items(state, value, room)
    if items is None:
        return None
    if items is _LEAF:
        return "*"
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    kind = "tuple" if record is None else "list"
    if isinstance(record, Mapping):
        kind = "dict" + repr(sorted(map(repr, record.items)))
    below = [structure(state, item, _left(room, items)) for item in items]
    return None if any(one is None for one in below) else (kind, *(one for one in below if one is not None))


def refuses_rule(machine: Machine, state: State, cls: Ref, value: Value, node: cst.CSTNode) -> bool:
    """Return whether the method `vmap` of a custom function returned other than an output and its dimensions."""
    record = state.heap.get(cls.id)
    name = record.name if isinstance(record, Class) else "the function"
    nested = structure(state, value)
    if nested == "*" or (type(value) is tuple and len(value) != 2):
        machine.emit(TransformMismatch(node, "vmap", "rule-pair", name))
        return True
    if type(value) is not tuple:
        return False
    output, dims = (structure(state, one) for one in value)
    if output is None or dims is None or covers(dims, output):
        return False
    machine.emit(TransformMismatch(node, "vmap", "rule-dims", name))
    return True


def covers(dims: Shape, nested: Shape) -> bool:
    """Return whether dimensions fit nested tensors: one stands for all that is below it."""
    if dims == "*":
        return True
    if type(dims) is str or type(nested) is str or dims[0] != nested[0] or len(dims) != len(nested):
        return False
    return all(covers(one, other) for one, other in zip(dims[1:], nested[1:], strict=True))


def paired(state: State, value: Value, dims: Value, change: Callable[[Value, Value], Value]) -> Value:
    """Return the same nesting with other leaves, made of each leaf and of the dimension that it has in `dims`."""
    if type(value) is tuple:
        below = dims if type(dims) is tuple else (dims,) * len(value)
        return tuple(paired(state, item, dim, change) for item, dim in zip(value, below, strict=True))
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    other = state.heap.get(dims.id) if isinstance(dims, Ref) else None
    if isinstance(record, Sequence):
        below = other.items if isinstance(other, Sequence) else (dims,) * len(record.items)
        items = tuple(paired(state, item, dim, change) for item, dim in zip(record.items, below, strict=True))
        return state.new(record._replace(items=items))
    if isinstance(record, Mapping):
        named = other.items if isinstance(other, Mapping) else dict.fromkeys(record.items, dims)
        found = {key: paired(state, item, named[key], change) for key, item in record.items.items()}
        return state.new(record._replace(items=found))
    return change(value, dims)


def changed(state: State, value: Value, change: Callable[[Value], Value], room: int = _ROOM) -> Value:
    """Return the same nesting with other leaves; what is not opened counts as an unknown leaf."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not room and (type(value) is tuple or isinstance(record, (Sequence, Mapping))):
        return change(Unknown())
    if type(value) is tuple:
        return tuple(changed(state, item, change, _left(room, value)) for item in value)
    if isinstance(record, Sequence):
        left = _left(room, record.items)
        return state.new(record._replace(items=tuple(changed(state, item, change, left) for item in record.items)))
    if isinstance(record, Mapping):
        left = _left(room, record.items)
        items = {key: changed(state, item, change, left) for key, item in record.items.items()}
        rest = record.rest if record.rest is None else changed(state, record.rest, change, left)
        return state.new(record._replace(items=items, rest=rest))
    return change(value)


def no_tensor(state: State, value: Value) -> str | None:
    """Return what a leaf is that is certainly no tensor: a literal, "number", "array" or "string"."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return repr(value)
    if is_scalar(value):
        return "number"
    if isinstance(value, Unknown) and value.kind in NO_TENSOR - {"number", "int", "bool", "raised", "limits"}:
        return "array" if value.kind == "array" else "string"
    return None


def other_leaf(state: State, value: Value) -> str | None:
    """Return what the first leaf is that is certainly no tensor."""
    found = (no_tensor(state, leaf) for leaf in leaves(state, value) or ())
    return next((other for other in found if other is not None), None)


def tensor_of(state: State, value: Value) -> Tensor | None:
    """Return the tensor that a leaf is."""
    ref = state.tensor_of(value) if isinstance(value, Unknown) else value
    record = state.heap.get(ref.id) if isinstance(ref, Ref) else None
    return record if isinstance(record, Tensor) else None
