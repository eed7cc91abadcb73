"""Operators, comparisons, and the making of tuples, lists, dicts, slices and strings."""

from __future__ import annotations

import operator
from collections.abc import Callable

import libcst as cst

from gradlint.domain.event import Refused
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import (
    Bound,
    External,
    Function,
    Instance,
    Mapping,
    NoGradient,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Write,
)
from gradlint.semantics.args import Args
from gradlint.semantics.branch import truth
from gradlint.semantics.iteration import items_of
from gradlint.semantics.machine import Machine, simple
from gradlint.source.core import (
    Append,
    Binary,
    Compare,
    Copy,
    Delete,
    Format,
    Make,
    MakeDict,
    MakeSlice,
    StoreOuter,
    Unary,
)

_FOLD: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
"""Python's own operators, for constants."""

_METHODS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "truediv",
    "//": "floordiv",
    "%": "mod",
    "**": "pow",
    "@": "matmul",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "lshift",
    ">>": "rshift",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
"""The names of the special methods: `__add__`, `__radd__`, `__iadd__`."""

_NUMBERS = (bool, int, float, complex)
_HUGE = 1 << 64


def binary(machine: Machine, state: State, instr: Binary) -> None:
    """left op right"""
    left, right = machine.read(state, instr.left), machine.read(state, instr.right)
    if type(left) in _CONSTANT and type(right) in _CONSTANT:
        state.set(instr.dest, _fold(instr.op, left, right))
        return
    state.set(instr.dest, operate(machine, state, instr.op, left, right, instr.node, instr.inplace))


_CONSTANT = frozenset({bool, int, float, complex, str})


def _fold(op: str, left: object, right: object) -> Value:
    """The result of an operator on constants; unknown where Python would raise, or the number is out of hand."""
    if op in ("**", "<<", "*") and not (_small(left) and _small(right)):
        return Unknown("number") if isinstance(left, _NUMBERS) else Unknown()
    try:
        return _FOLD[op](left, right)
    except (TypeError, ValueError, ArithmeticError, KeyError):
        return Unknown()


def _small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) < 1000
    return isinstance(value, (int, float, complex)) and abs(value) < 10_000


def operate(
    machine: Machine,
    state: State,
    op: str,
    left: Value,
    right: Value,
    node: cst.CSTNode,
    inplace: bool = False,
) -> Value:
    """A binary operator on any two values."""
    from gradlint.semantics.torch.operators import tensor_operator

    if isinstance(left, NoGradient) or isinstance(right, NoGradient):
        absent_gradient(machine, left if isinstance(left, NoGradient) else right, node)
        return machine.unknown("raised")
    if _raised(left) or _raised(right):
        return machine.unknown("raised")
    left, right = _shown(state, left), _shown(state, right)
    left_tensor = isinstance(left, Ref) and isinstance(state[left], Tensor)
    if left_tensor or (isinstance(right, Ref) and isinstance(state[right], Tensor)):
        return tensor_operator(machine, state, op, left, right, node, inplace and left_tensor)
    if isinstance(left, Ref) or isinstance(right, Ref):
        return _objects(machine, state, op, left, right, node, inplace)
    if type(left) is tuple and type(right) is tuple and op == "+":
        return left + right
    if type(left) is tuple and type(right) is int and op == "*" and right < 100:
        return left * right
    if inplace and isinstance(left, Unknown) and shares_memory(state, left, op, node):
        return left
    return symbolic(machine, op, left, right, node)


def _shown(state: State, value: Value) -> Value:
    """The tensor that something unknown has been shown to be."""
    if isinstance(value, Unknown):
        found = state.facts.get(("tensor", value))
        return found if isinstance(found, Ref) else value
    return value


def shares_memory(state: State, value: Unknown, op: str, node: cst.CSTNode) -> bool:
    """A write to a numpy array of a tensor's memory: no version counter sees it."""
    if value.key is None or value.key[0] != "memory":
        return False
    assert isinstance(value.key[1], Ref)
    record = state[value.key[1]]
    assert isinstance(record, Tensor)
    state.put(record.memory, (*state.writes(record.memory), Write(node, f"numpy {op}")))
    return True


def _raised(value: Value) -> bool:
    """Whether a value stands for one that torch did not compute, because it raised."""
    return isinstance(value, Unknown) and value.kind == "raised"


def absent_gradient(machine: Machine, value: Value, node: cst.CSTNode) -> None:
    """None stands where a gradient is computed with."""
    assert isinstance(value, NoGradient)
    related = [] if value.syntax is None else [(value.syntax, "the tensor whose .grad is None comes from here")]
    machine.emit(Refused(node, "none-grad-used", "", tuple(related)))


def symbolic(machine: Machine, op: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """An operator on something unknown: a symbol made of both sides, with the graphs behind them."""
    origins = [v.origin for v in (left, right) if isinstance(v, Unknown) and v.origin is not None]
    number = _is_number(left) and _is_number(right)
    kind = "number" if number else _joint_kind(left, right)
    if origins:
        return Unknown(kind, derived(op, node, origins), None, node)
    dtype = _float_array(op, left, right) if kind == "array" else None
    if dtype is not None:
        return Unknown("array", None, ("array", None, dtype, node), node)
    symbol = machine.symbol(op, left, right, kind=kind)
    if symbol.syntax is None:
        symbol.syntax = node
    return symbol


def _joint_kind(left: Value, right: Value) -> str | None:
    """An array beside an array or a number gives an array; not beside something unknown."""
    arrays = [isinstance(value, Unknown) and value.kind == "array" for value in (left, right)]
    certain = all(is_array or _is_number(value) for is_array, value in zip(arrays, (left, right), strict=True))
    return "array" if any(arrays) and certain else None


def _float_array(op: str, left: Value, right: Value) -> str | None:
    """The type of arithmetic on numpy arrays of one floating type, and numbers, which do not change it."""
    keys = [v.key for v in (left, right) if isinstance(v, Unknown) and v.kind == "array"]
    dtypes = {key[2] if key is not None and key[0] == "array" else None for key in keys}
    (dtype,) = dtypes if len(dtypes) == 1 else (None,)
    return str(dtype) if op in ("+", "-", "*", "/", "**") and dtype in ("float32", "float64") else None


def derived(op: str, node: cst.CSTNode, origins: list[Node]) -> Node:
    """The provenance of a value computed outside torch: the value flows, whether a gradient does is unknown.

    Numbers and arrays are behind a cut already, so nothing is lost by saying so.
    """
    tracked = None if any(origin.tracked is not False for origin in origins) else False
    return Node(op, node, [Edge(origin, None if tracked is None else False) for origin in origins], tracked=tracked)


def _is_number(value: Value) -> bool:
    return isinstance(value, _NUMBERS) or (isinstance(value, Unknown) and value.kind in ("number", "int", "bool"))


def _objects(
    machine: Machine, state: State, op: str, left: Value, right: Value, node: cst.CSTNode, inplace: bool
) -> Value:
    from gradlint.semantics.calling import call_in_place
    from gradlint.semantics.classes import find_method

    record = state[left] if isinstance(left, Ref) else None
    if isinstance(record, Sequence):
        return _sequences(machine, state, op, left, record, right, node, inplace)
    if isinstance(record, Mapping) and op == "|" and isinstance(right, Ref):
        other = state[right]
        if isinstance(other, Mapping):
            return state.new(Mapping({**record.items, **other.items}, record.open or other.open))
    name = _METHODS.get(op, "")
    for receiver, argument, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        if isinstance(receiver, Ref) and isinstance(state[receiver], Instance):
            bound = find_method(state, receiver, method)
            if bound is not None:
                return call_in_place(machine, state, bound, Args((argument,)), node)
    return machine.program.opaque(machine, state, (left, right), node)


def _sequences(
    machine: Machine,
    state: State,
    op: str,
    left: Value,
    record: Sequence,
    right: Value,
    node: cst.CSTNode,
    inplace: bool,
) -> Value:
    from gradlint.semantics.torch.aliasing import repeated

    assert isinstance(left, Ref)
    if op == "*":
        repeated(machine, state, record.items, right, node)
    if op == "+":
        added = items_of(machine, state, right, node)
        joined = Sequence(record.items + added.items, record.kind, record.open or added.open)
    elif op == "*" and isinstance(right, int) and right * len(record.items) <= 100:
        joined = record._replace(items=record.items * right)
    elif op == "*":
        joined = record._replace(open=True)
    else:
        return machine.unknown()
    if inplace:
        state.put(left.id, joined)
        return left
    return state.new(joined)


def unary(machine: Machine, state: State, instr: Unary) -> None:
    """op operand"""
    from gradlint.semantics.torch.operators import tensor_unary

    value = machine.read(state, instr.operand)
    if instr.op == "not":
        known = truth(state, value)
        state.set(instr.dest, machine.symbol("not", value, kind="bool") if known is None else not known)
    elif isinstance(value, (bool, int, float, complex)):
        state.set(instr.dest, _fold_unary(instr.op, value))
    elif isinstance(value, Ref) and isinstance(state[value], Tensor):
        state.set(instr.dest, tensor_unary(machine, state, instr.op, value, instr.node))
    elif isinstance(value, Unknown) and value.origin is not None:
        state.set(instr.dest, Unknown(value.kind, derived(instr.op, instr.node, [value.origin]), None, instr.node))
    else:
        kind = value.kind if isinstance(value, Unknown) else None
        state.set(instr.dest, machine.symbol(instr.op, value, kind=kind))


def _fold_unary(op: str, value: object) -> Value:
    if op == "-":
        return -value  # type: ignore[operator]
    if op == "~" and isinstance(value, int):
        return ~int(value)
    return value if op == "+" else Unknown()


def compare(machine: Machine, state: State, instr: Compare) -> None:
    """left op right"""
    left, right = machine.read(state, instr.left), machine.read(state, instr.right)
    state.set(instr.dest, _compare(machine, state, instr, left, right))


def _compare(machine: Machine, state: State, instr: Compare, left: Value, right: Value) -> Value:
    op = instr.op
    if type(left) in _CONSTANT and type(right) in _CONSTANT and op in _FOLD:
        return _fold(op, left, right)
    if op in ("is", "is not"):
        same = _identical(state, left, right)
        if same is None:
            return machine.symbol("==", left, right, kind="bool") if op == "is" else _negated(machine, left, right)
        return same is (op == "is")
    if op in ("in", "not in"):
        found = _contains(state, left, right)
        if found is None:
            return machine.symbol(op, left, right, kind="bool")
        return found is (op == "in")
    if op in ("==", "!=") and (_is_none(left) or _is_none(right)):
        same = _identical(state, left, right)
        if same is not None:
            return same is (op == "==")
    if op == "!=" and not isinstance(left, Ref) and not isinstance(right, Ref):
        return _negated(machine, left, right)
    value = operate(machine, state, op, left, right, instr.node)
    if isinstance(value, Unknown) and value.kind is None and value.origin is None:
        value.kind = "bool" if not isinstance(left, Unknown) or left.kind == "number" else None
    return value


def _negated(machine: Machine, left: Value, right: Value) -> Value:
    return machine.symbol("not", machine.symbol("==", left, right, kind="bool"), kind="bool")


def _is_none(value: Value) -> bool:
    return value is None or isinstance(value, NoGradient)


def _identical(state: State, left: Value, right: Value) -> bool | None:
    """`left is right`, as far as it is known."""
    left = None if isinstance(left, NoGradient) else left
    right = None if isinstance(right, NoGradient) else right
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        value, other = (left, right) if isinstance(left, Unknown) else (right, left)
        if left is right:
            return True
        if other is None and isinstance(value, Unknown):
            return False if value.kind is not None or ("tensor", value) in state.facts else None
        return None
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, (Ref, External, Function, Bound)) or isinstance(right, (Ref, External, Function, Bound)):
        return left == right
    return None


def _contains(state: State, item: Value, container: Value) -> bool | None:
    if isinstance(item, (Unknown, Ref)):
        return None
    if isinstance(container, str) and isinstance(item, str):
        return item in container
    values: object = None
    if type(container) is tuple:
        values = container
    elif isinstance(container, Ref):
        record = state[container]
        if isinstance(record, Mapping) and not record.open:
            return item in record.items
        if isinstance(record, Sequence) and not record.open:
            values = record.items
    if isinstance(values, tuple) and not any(isinstance(value, (Unknown, Ref)) for value in values):
        return item in values
    return None


def copy(machine: Machine, state: State, instr: Copy) -> None:
    """dest = src"""
    from gradlint.semantics.torch.aliasing import named

    value = machine.read(state, instr.src)
    if type(value) is Ref and type(instr.dest) is str:
        named(machine, state, value, instr.node)
    state.set(instr.dest, value)


def make(machine: Machine, state: State, instr: Make) -> None:
    """A tuple, list, set or iterator of items."""
    items: list[Value] = []
    is_open = False
    for star, operand in instr.items:
        value = machine.read(state, operand)
        if star:
            more = items_of(machine, state, value, instr.node)
            items.extend(more.items)
            is_open = is_open or more.open
        else:
            items.append(value)
    if instr.kind == "tuple" and not is_open:
        state.set(instr.dest, tuple(items))
    else:
        state.set(instr.dest, state.new(Sequence(tuple(items), instr.kind, is_open)))


def make_dict(machine: Machine, state: State, instr: MakeDict) -> None:
    """A dict of pairs; unknown keys leave it open."""
    items: dict[object, Value] = {}
    is_open = False
    for key, operand in instr.pairs:
        value = machine.read(state, operand)
        if key is None:
            pairs = machine.program.pairs(state, value)
            is_open = is_open or pairs is None
            items.update(pairs or {})
            continue
        name = machine.read(state, key)
        if is_key(name):
            items[name] = value
        else:
            is_open = True
            items[("symbol", len(items))] = value
    state.set(instr.dest, state.new(Mapping(items, is_open)))


def is_key(value: Value) -> bool:
    """Whether a value is a constant that a dict of ours can have as key."""
    return isinstance(value, (str, int, float, bool, bytes, type(None), External, Ref)) or (
        type(value) is tuple and all(map(is_key, value))
    )


def make_slice(machine: Machine, state: State, instr: MakeSlice) -> None:
    """start:stop:step"""
    start, stop, step = (machine.read(state, part) for part in instr.parts)
    state.set(instr.dest, slice(start, stop, step))


def format_string(machine: Machine, state: State, instr: Format) -> None:
    """An f-string, known where all its parts are whole numbers and texts."""
    parts = [machine.read(state, part) for part in instr.parts]
    known = all(type(part) in (str, int) for part in parts)
    state.set(instr.dest, "".join(map(str, parts)) if known else Unknown("str"))


def append(machine: Machine, state: State, instr: Append) -> None:
    """The accumulator of a comprehension grows."""
    target = machine.read(state, instr.target)
    assert isinstance(target, Ref)
    record = state[target]
    value = machine.read(state, instr.value)
    machine.ledger.store(target, value, instr.node)
    if isinstance(record, Sequence):
        state.put(target.id, record._replace(items=(*record.items, value)))
        return
    assert isinstance(record, Mapping) and instr.key is not None
    key = machine.read(state, instr.key)
    if is_key(key):
        state.put(target.id, record._replace(items={**record.items, key: value}))
    else:
        items = {**record.items, ("symbol", len(record.items)): value}
        state.put(target.id, Mapping(items, True))


def store_outer(machine: Machine, state: State, instr: StoreOuter) -> None:
    """global, nonlocal"""
    value = machine.read(state, instr.src)
    frame = state.locals.get("<outer>")
    target = frame
    while isinstance(frame, int):
        target = frame
        names = state.frames[frame]
        if not instr.to_global and instr.name in names:
            break
        frame = names.get("<outer>")
    if isinstance(target, int):
        state.set_in(target, instr.name, value)
    else:
        state.set(instr.name, value)


def delete(machine: Machine, state: State, instr: Delete) -> None:
    """del"""
    from gradlint.semantics.torch.module_parts import delete_part

    if instr.obj is None:
        assert instr.name is not None
        state.drop(instr.name)
        return
    target = machine.read(state, instr.obj)
    if not isinstance(target, Ref):
        return
    record = state[target]
    if isinstance(record, Instance) and instr.name is not None:
        attrs = {name: value for name, value in record.attrs.items() if name != instr.name}
        state.put(target.id, record._replace(attrs=attrs))
    elif isinstance(record, Instance) and instr.index is not None:
        delete_part(state, target, record, machine.read(state, instr.index))
    elif isinstance(record, Mapping) and instr.index is not None:
        key = machine.read(state, instr.index)
        if is_key(key) and key in record.items:
            items = {name: value for name, value in record.items.items() if name != key}
            state.put(target.id, record._replace(items=items))
        else:
            state.put(target.id, Mapping({}, True))
    elif isinstance(record, Sequence):
        index = None if instr.index is None else machine.read(state, instr.index)
        state.put(target.id, _without(record, index))


def _without(record: Sequence, index: Value) -> Sequence:
    """A list without an item; where it is not known which one is gone, none is certain to be left."""
    if index == slice(None, None, None):
        return Sequence((), record.kind)
    if isinstance(index, int) and not record.open and -len(record.items) <= index < len(record.items):
        items = list(record.items)
        del items[index]
        return record._replace(items=tuple(items))
    return Sequence((Unknown(),), record.kind, True)


simple(Binary, binary)
simple(Unary, unary)
simple(Compare, compare)
simple(Copy, copy)
simple(Make, make)
simple(MakeDict, make_dict)
simple(MakeSlice, make_slice)
simple(Format, format_string)
simple(Append, append)
simple(StoreOuter, store_outer)
simple(Delete, delete)
