"""Positions that are not known as numbers, but as iterations of a loop: `range(n)` and `enumerate(data)` count them.

Two iterations stand for all. In the first a loop over `range(n)` reads the first item of a list, in the second the
second: not the same item twice, which would be the same graph twice.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import GraphsShared
from gradlint.domain.graph import Edge, Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.escape import escape, origins
from gradlint.interpreter.machine import Machine

_NTH = "nth"


def nth(position: int, *, upwards: bool = True) -> Unknown:
    """Return a number of which only is known that it counts, and that so many came before it.

    `upwards`: it counts from zero or more, so that it is no smaller than that.
    """
    return Unknown("int", key=(_NTH, max(position, 0), upwards))


def compared(op: str, left: Value, right: Value) -> bool | None:
    """Return how the number of an iteration compares with a constant, where every later one does the same."""
    if type(left) is int and isinstance(right, Unknown) and op in _TURNED:
        return compared(_TURNED[op], right, left)
    if not isinstance(left, Unknown) or type(right) is not int or left.key is None or left.key[0] != _NTH:
        return None
    _, least, upwards = left.key
    if not upwards or not isinstance(least, int):
        return None
    if least > right:
        return op in (">", ">=", "!=") if op in _ORDERS else None
    return op == ">=" if least == right and op in (">=", "<") else None


_TURNED = {"==": "==", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""Each comparison with its operands exchanged."""
_ORDERS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def next_position(index: Value) -> Value:
    """Return the count of the next iteration: never the same number."""
    known = place_of(index)
    if known is None or not isinstance(index, Unknown) or index.key is None:
        return Unknown("int")
    return nth(known + 1, upwards=bool(index.key[2]))


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
