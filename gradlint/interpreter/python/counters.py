"""Positions that are not known as numbers, but as iterations of a loop: `range(n)` and `enumerate(data)` count them.

Two iterations stand for all. In the first a loop over `range(n)` reads the first item of a list, in the second the
second: not the same item twice, which would be the same graph twice.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import GraphsShared
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State, rebound
from gradlint.domain.value import Instance, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.escape import escape, origins
from gradlint.interpreter.machine import Machine

_NTH = "nth"


class Last(NamedTuple):
    """The last number that a loop counts, and the one after it, as symbols."""

    number: Value
    after: Value


def nth(position: int, *, upwards: bool = True, last: Last | None = None) -> Unknown:
    """Return a number of which only is known that it counts, and that so many came before it.

    `upwards`: it counts from zero or more, so that it is no smaller than that. `last`: it counts by one up to there.
    """
    return Unknown("int", key=(_NTH, max(position, 0), upwards, last))


def last_of(item: Value) -> Last | None:
    """Return up to where the numbers of a loop count of which this is a later item."""
    number = _number_of(item)
    last = number.key[3] if isinstance(number, Unknown) and number.key is not None and number.key[0] == _NTH else None
    return last if isinstance(last, Last) else None


def _number_of(item: Value) -> Value:
    return item[0] if type(item) is tuple and item else item


def ended(states: list[State], item: Value, last: Last | None, done: list[State]) -> list[State]:
    """Return the states in which another iteration follows the one of this item; the others are `done`.

    A test in its body may have said that it is the last, as `i == n - 1` in a loop over `range(n)`.
    """
    if last is None:
        return states
    number = _number_of(item)
    over = [state for state in states if _was_last(state, number, last)]
    done.extend(over)
    return [state for state in states if state not in over] if over else states


def _was_last(state: State, number: Value, last: Last) -> bool:
    for test, holds in state.facts.items():
        key = test.key if isinstance(test, Unknown) else None
        if key is None or len(key) != 3 or key[0] not in _AT_END:
            continue
        op, left, right = key
        for way, one, other in ((op, left, right), (_TURNED[str(op)], right, left)):
            at_end = (one == number and other == last.number) or (other == last.after and _follows(one, number))
            if at_end and holds is _AT_END[str(way)]:
                return True
    return False


def _follows(value: object, number: Value) -> bool:
    """Return whether a value is the number after another."""
    if type(value) is int and type(number) is int:
        return value == number + 1
    return isinstance(value, Unknown) and value.key == ("+", number, 1)


def compared(op: str, left: Value, right: Value) -> bool | None:
    """Return how the number of an iteration compares with a constant, where every later one does the same."""
    if type(left) is int and isinstance(right, Unknown) and op in _TURNED:
        return compared(_TURNED[op], right, left)
    if not isinstance(left, Unknown) or type(right) is not int or left.key is None or left.key[0] != _NTH:
        return None
    _, least, upwards, _ = left.key
    if not upwards or not isinstance(least, int):
        return None
    if least > right:
        return op in (">", ">=", "!=") if op in _ORDERS else None
    return op == ">=" if least == right and op in (">=", "<") else None


_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Each comparison with its operands exchanged."""
_AT_END = {"==": True, "<": False, ">=": True, ">": None, "<=": None}
"""How a comparison of a number with the last one comes out if it is that one; None where it comes out so for others."""
_ORDERS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def next_position(index: Value) -> Value:
    """Return the count of the next iteration: never the same number."""
    known = place_of(index)
    if known is None or not isinstance(index, Unknown) or index.key is None:
        return Unknown("int")
    return nth(known + 1, upwards=bool(index.key[2]), last=last_of(index))


def place_of(index: Value) -> int | None:
    """Return the place in a list that an index certainly, or by its iteration, stands for."""
    if isinstance(index, int):
        return index
    if isinstance(index, Unknown) and index.key is not None and index.key[0] == _NTH:
        position = index.key[1]
        assert isinstance(position, int)
        return position
    return None


def has_graph(state: State, value: Value) -> bool:
    """Return whether a value is a result of tracked operations, or a list of such: which one it is matters."""
    if type(value) is tuple:
        return any(has_graph(state, part) for part in value)
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Sequence):
        return any(has_graph(state, part) for part in record.items[:4])
    return isinstance(record, Tensor) and record.node.leaf is None and record.node.live


def any_of(machine: Machine, state: State, items: tuple[Value, ...], node: cst.CSTNode) -> Unknown:
    """Return one of the items, which is not known: each may be used for what this one is used for."""
    escape(machine, state, items, node)
    graphs = origins(state, items)
    machine.announce(state, GraphsShared(node, graphs))
    state.escape()
    return Unknown(None, Node("call", node, [Edge(graph, None) for graph in graphs], tracked=None), None, node)


def count_on(before: State, states: list[State], counters: frozenset[str]) -> None:
    """Let what an iteration has added a number to stand for the count of any later one."""
    for state in states:
        old = before.frames[state.frame].names if state.frame in before.frames else {}
        for name in list(rebound(state.locals, old)):
            if name in counters and _rises(state.locals[name], old[name]):
                state.set(name, nth(state.locals[name], upwards=old[name] >= 0))  # type: ignore[arg-type, operator]
        for address in list(state.dirty):
            former, record = before.heap.get(address), state.heap.get(address)
            if not isinstance(former, Instance) or not isinstance(record, Instance) or former is record:
                continue
            attrs = {
                name: nth(value, upwards=former.attrs[name] >= 0)  # type: ignore[arg-type, operator]
                for name, value in record.attrs.items()
                if f".{name}" in counters and _rises(value, former.attrs.get(name))
            }
            if attrs:
                state.put(address, record._replace(attrs={**record.attrs, **attrs}))


def _rises(value: Value, former: Value) -> bool:
    return type(value) is int and type(former) is int and value > former
