"""Operators: what they give on numbers, sequences, tensors, and things that are not known."""

from __future__ import annotations

import operator
from collections.abc import Callable

import libcst as cst

from gradlint.domain.announcement import Repeated
from gradlint.domain.graph import Edge, Node
from gradlint.domain.size import is_work
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    Class,
    External,
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
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.libraries.numpy_arrays import arithmetic, is_number, joint_kind
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.branch import refuses_truth, truth
from gradlint.interpreter.python.classes import find_method
from gradlint.interpreter.python.contexts import MEMORY
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.python.unbound import is_unbound
from gradlint.interpreter.torch.index import tensor_operator, tensor_unary
from gradlint.interpreter.torch.parameters import LISTS, module_base
from gradlint.interpreter.torch.tensor import absent_gradient, is_raised
from gradlint.source.core import Binary, Unary

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

FOLD: dict[str, Callable[..., Value]] = {op: getattr(operator, f"__{name}__") for op, name in _METHODS.items()}
"""Python's own operators, for constants."""

_NUMBERS = (bool, int, float, complex)
_HUGE = 1 << 64


def binary(machine: Machine, state: State, instr: Binary) -> None:
    """left op right; a path on which a variable has no value ends."""
    if is_unbound(machine, state, instr.left) or is_unbound(machine, state, instr.right):
        machine.lost.append(state)
        return
    left, right = machine.read(state, instr.left), machine.read(state, instr.right)
    if type(left) in CONSTANT and type(right) in CONSTANT:
        state.set(instr.dest, fold(instr.op, left, right))
        return
    state.set(instr.dest, operate(machine, state, instr.op, left, right, instr.node, instr.inplace))


CONSTANT = frozenset({bool, int, float, complex, str})


def fold(op: str, left: object, right: object) -> Value:
    """Return the result of an operator on constants; unknown where Python would raise, or the number is out of hand."""
    if op in ("**", "<<", "*") and not (_small(left) and _small(right)):
        return Unknown("number") if isinstance(left, _NUMBERS) else Unknown()
    if isinstance(left, str) and op == "%" and is_work(left, (right,)):
        return Unknown("str")
    try:
        return FOLD[op](left, right)
    except (TypeError, ValueError, ArithmeticError, KeyError):
        return Unknown()


def _small(value: object) -> bool:
    if isinstance(value, str):
        return len(value) < 1000
    return isinstance(value, (int, float, complex)) and abs(value) < 10_000


def operate(
    machine: Machine, state: State, op: str, left: Value, right: Value, node: cst.CSTNode, inplace: bool = False
) -> Value:
    """Apply a binary operator to any two values."""
    if isinstance(left, NoGradient) or isinstance(right, NoGradient):
        absent_gradient(machine, left if isinstance(left, NoGradient) else right, node)
        return Unknown("raised")
    if is_raised(left) or is_raised(right):
        return Unknown("raised")
    # Something unknown may have been shown to be a tensor.
    left, right = (state.tensor_of(one) or one if isinstance(one, Unknown) else one for one in (left, right))
    if op == "%" and left == 0 and type(left) is int and isinstance(right, Unknown) and right.origin is None:
        return 0  # The number of the first iteration.
    left_tensor = isinstance(left, Ref) and isinstance(state[left], Tensor)
    if left_tensor or (isinstance(right, Ref) and isinstance(state[right], Tensor)):
        result = tensor_operator(machine, state, op, left, right, node, inplace and left_tensor)
        if inplace and isinstance(left, Unknown) and not is_number(left):
            _may_be_changed(state, result)
        return result
    if op == "|" and (_is_class(state, left) or _is_class(state, right)):
        return tuple(part for one in (left, right) for part in (one if type(one) is tuple else (one,)))
    if isinstance(left, Ref) or isinstance(right, Ref):
        return _objects(machine, state, op, left, right, node, inplace)
    if type(left) is tuple and type(right) is tuple and op == "+":
        return left + right
    if type(left) is tuple and type(right) is int and op == "*" and right < 100:
        return left * _index(right)
    if inplace and isinstance(left, Unknown) and shares_memory(state, left, op, node):
        return left
    return symbolic(machine, op, left, right, node)


def _is_class(state: State, value: Value) -> bool:
    """Return whether a value is a class, or classes already joined: `Tensor | None`."""
    if type(value) is tuple:
        return any(_is_class(state, one) for one in value)
    if isinstance(value, External):
        return value.path.rpartition(".")[2][:1].isupper() or value.path.startswith("builtins.")
    return isinstance(value, Ref) and isinstance(state.heap.get(value.id), Class)


def _may_be_changed(state: State, result: Value) -> None:
    """Let a result be the unknown left side, changed in place: a leaf that requires grad and has a gradient."""
    record = state.heap.get(result.id) if isinstance(result, Ref) else None
    if isinstance(result, Ref) and isinstance(record, Tensor) and record.grad is False:
        state.put(result.id, record._replace(grad=None, accumulated=Unknown()))


def shares_memory(state: State, value: Unknown, op: str, node: cst.CSTNode) -> bool:
    """Write to a numpy array of a tensor's memory, which no version counter sees; return whether it is one."""
    if value.kind != "array" or value.key is None:
        return False
    tensor = value.key[1] if value.key[0] == "memory" else state.facts.get((MEMORY, value))
    record = state.heap.get(tensor.id) if isinstance(tensor, Ref) else None
    if not isinstance(record, Tensor):
        return False
    state.put(record.memory, (*state.writes(record.memory), Write(node, f"numpy {op}")))
    return True


def symbolic(machine: Machine, op: str, left: Value, right: Value, node: cst.CSTNode) -> Value:
    """Apply an operator to something unknown: a symbol made of both sides, with the graphs of both."""
    origins = [v.origin for v in (left, right) if isinstance(v, Unknown) and v.origin is not None]
    number = is_number(left) and is_number(right)
    kind = "number" if number else joint_kind(left, right)
    if origins:
        return Unknown(kind, derived(op, node, origins), None, node)
    made = arithmetic(op, left, right) if kind == "array" else None
    if made is not None:
        return Unknown("array", None, ("array", *made, node), node)
    if kind is None and op in COMPARISONS and gives_bool(left):
        kind = "bool"
    return machine.symbol(op, left, right, kind=kind, syntax=node)


COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def gives_bool(left: Value) -> bool:
    """Return whether a comparison certainly gives a bool: where the left side is not known it may be an array."""
    return not isinstance(left, Unknown) or left.kind == "number"


def derived(op: str, node: cst.CSTNode, origins: list[Node]) -> Node:
    """Return the provenance of a value computed outside torch: the value flows, whether a gradient does is unknown.

    Numbers and arrays are cut off already, so nothing is lost by saying so.
    """
    tracked = None if any(origin.tracked is not False for origin in origins) else False
    return Node(op, node, [Edge(origin, None if tracked is None else False) for origin in origins], tracked=tracked)


def _objects(
    machine: Machine, state: State, op: str, left: Value, right: Value, node: cst.CSTNode, inplace: bool
) -> Value:
    record = state[left] if isinstance(left, Ref) else None
    if isinstance(left, Ref) and isinstance(record, Sequence):
        return _sequences(machine, state, op, left, right, node, inplace)
    if isinstance(record, Mapping) and op == "|" and isinstance(right, Ref):
        other = state[right]
        if isinstance(other, Mapping):
            return state.new(Mapping({**record.items, **other.items}, record.open or other.open))
    if inplace and op == "+" and isinstance(record, Instance) and module_base(state, record) in LISTS:
        return machine.call(state, Bound(left, "extend"), Args((right,)), node)
    name = _METHODS.get(op, "")
    for receiver, argument, method in ((left, right, f"__{name}__"), (right, left, f"__r{name}__")):
        if isinstance(receiver, Ref) and isinstance(state[receiver], Instance):
            bound = find_method(state, receiver, method)
            if bound is not None:
                return machine.call(state, bound, Args((argument,)), node)
    return unknown_call(machine, state, (left, right), node)


def _index(number: int) -> int:
    """Return a factor of at most 100 as one that Python takes, which refuses what is no index even for `()`."""
    return max(0, min(number, 100))


def _sequences(
    machine: Machine, state: State, op: str, left: Ref, right: Value, node: cst.CSTNode, inplace: bool
) -> Value:
    record = state.at(left, Sequence)
    if op == "*":
        machine.announce(state, Repeated(node, record.items, right))
    if op == "+":
        added = items_of(machine, state, right, node)
        joined = Sequence(record.items + added.items, record.kind, record.open or added.open)
    elif op == "*" and isinstance(right, int) and right * len(record.items) <= 100:
        joined = record._replace(items=record.items * _index(right))
    elif op == "*":
        joined = record._replace(open=True)
    else:
        return Unknown()
    if inplace:
        state.put(left.id, joined)
        return left
    return state.new(joined)


def unary(machine: Machine, state: State, instr: Unary) -> None:
    """op operand"""
    value = machine.read(state, instr.operand)
    if instr.op == "not":
        refuses_truth(machine, state, value, instr.node)
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


def _fold_unary(op: str, value: bool | int | float | complex) -> Value:
    if op == "-":
        return -value
    if op == "~" and isinstance(value, int):
        return ~int(value)
    return value if op == "+" else Unknown()


simple(Binary, binary)
simple(Unary, unary)
