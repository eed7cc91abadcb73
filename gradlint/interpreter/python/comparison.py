"""Comparisons: what is known of `==`, `is`, and `in`."""

from __future__ import annotations

from gradlint.domain import dtype as dtypes
from gradlint.domain.announcement import GradientTested
from gradlint.domain.graph import DATA, SUPPOSED_CALL
from gradlint.domain.state import State
from gradlint.domain.value import Bound, External, Function, Mapping, NoGradient, Ref, Sequence, Unknown, Value
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.counters import compared
from gradlint.interpreter.python.operators import CONSTANT, FOLD, fold, gives_bool, operate
from gradlint.interpreter.python.unbound import is_unbound
from gradlint.source.core import Compare


def compare(machine: Machine, state: State, instr: Compare) -> None:
    """left op right; a path on which a variable has no value ends."""
    if is_unbound(machine, state, instr.left) or is_unbound(machine, state, instr.right):
        machine.lost.append(state)
        return
    left, right = machine.read(state, instr.left), machine.read(state, instr.right)
    state.set(instr.dest, _compare(machine, state, instr, left, right))


def _compare(machine: Machine, state: State, instr: Compare, left: Value, right: Value) -> Value:
    op = instr.op
    if type(left) in CONSTANT and type(right) in CONSTANT and op in FOLD:
        return fold(op, left, right)
    if op in ("is", "is not"):
        if type(left) is NoGradient:
            machine.announce(state, GradientTested(instr.node, left.read, asserted=False))
        same = _identical(state, left, right)
        if same is None:
            return _equal(machine, left, right, instr) if op == "is" else _negated(machine, left, right, instr)
        return same is (op == "is")
    if op in ("in", "not in"):
        found = _contains(state, left, right)
        if found is None:
            held = machine.symbol("in", left, right, kind="bool", syntax=instr.node)
            return held if op == "in" else machine.symbol("not", held, kind="bool")
        return found is (op == "in")
    if op in ("==", "!=") and (_is_none(left) or _is_none(right)):
        same = _identical(state, left, right)
        if same is not None:
            return same is (op == "==")
    if op in ("==", "!=") and isinstance(left, External) and isinstance(right, External):
        one, other = (dtypes.named(value.path.removeprefix("torch.")) for value in (left, right))
        if one is not None and other is not None:
            return (one == other) is (op == "==")
        if left == right or "." not in left.path + right.path or _are_torch(left, right):
            return (left == right) is (op == "==")
    if op in ("==", "!=") and _is_device_beside_text(left, right):
        return op == "!="  # `torch.device("cpu") == "cpu"` is False (measured).
    counted = compared(op, left, right)
    if counted is not None:
        return counted
    if op == "!=" and not isinstance(left, Ref) and not isinstance(right, Ref):
        return _negated(machine, left, right, instr)
    if op in _CONVERSE and isinstance(left, Unknown) and left.kind == "int" and type(right) is int:
        converse = machine.symbol(_CONVERSE[op], left, right, kind="bool", syntax=instr.node)
        return machine.symbol("not", converse, kind="bool")
    value = operate(machine, state, op, left, right, instr.node)
    # Nothing is known of the result, not even what it was made of.
    if isinstance(value, Unknown) and not (value.kind or value.origin or value.key) and gives_bool(left):
        return Unknown("bool", syntax=value.syntax or instr.node)
    return value


_CONVERSE = {"<": ">=", ">": "<="}


def _equal(machine: Machine, left: Value, right: Value, instr: Compare) -> Value:
    return machine.symbol("==", left, right, kind="bool", syntax=instr.node)


def _negated(machine: Machine, left: Value, right: Value, instr: Compare) -> Value:
    return machine.symbol("not", _equal(machine, left, right, instr), kind="bool")


def _are_torch(*values: External) -> bool:
    """Return whether all are torch's own: one thing has one name there."""
    return all(value.path.startswith("torch.") for value in values)


def _is_device_beside_text(*values: Value) -> bool:
    """Return whether one of two values is the `device` of a tensor, and the other a text."""
    is_device = any(isinstance(value, Unknown) and value.kind == "device" for value in values)
    return is_device and any(isinstance(value, str) for value in values)


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
            known = value.kind is not None or ("tensor", value) in state.facts
            return False if known or _is_supposed(value) else None
        return None
    if left is None or right is None or isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, str) and isinstance(right, str):
        return left == right  # As the members of an enumeration are; texts of a program are mostly one, too.
    if isinstance(left, (Ref, External, Function, Bound)) or isinstance(right, (Ref, External, Function, Bound)):
        return left == right
    return None


def _is_supposed(value: Unknown) -> bool:
    """Return whether a value came out of a network that is supposed, or is data: tensors, and lists of them."""
    return value.origin is not None and value.origin.op.startswith((SUPPOSED_CALL, DATA))


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
            try:
                return item in record.items
            except TypeError:  # A slice has no hash before Python 3.12.
                return None
        if isinstance(record, Sequence) and not record.open:
            values = record.items
    if isinstance(values, tuple) and not any(isinstance(value, (Unknown, Ref)) for value in values):
        return item in values
    return None


simple(Compare, compare)
