"""What a program switches off: the flags of leaves, the grad mode. A later backward may find no graph for it."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.training_loop import GraphSwitchedOff
from gradlint.domain.state import State
from gradlint.domain.value import Bound, Instance, Ref, Sequence, Tensor, Value
from gradlint.interpreter.machine import Machine

_MEANT = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts that a program makes itself: no gradient is wanted of what a value was computed from on the way behind them."""


def note_flag(machine: Machine, record: Tensor, wanted: bool | None, syntax: cst.CSTNode) -> None:
    """The flag of a leaf is set: it is frozen from now on, or trained again."""
    leaf = record.node.leaf
    if leaf is None:
        return
    if wanted is not False:
        machine.frozen.pop(leaf, None)
    elif record.grad is True:
        machine.frozen[leaf] = syntax


def thaw(machine: Machine, state: State, values: Iterable[Value]) -> None:
    """Something unknown is given what is frozen: it may switch it on again."""
    left = {leaf for leaf in machine.frozen if is_off(state, leaf)}
    seen: set[int] = set()
    stack = list(values)
    while stack and left:
        value = stack.pop()
        if type(value) is tuple:
            stack.extend(value)
        elif isinstance(value, Bound):
            stack.append(value.receiver)
        elif isinstance(value, Ref) and value.id not in seen:
            seen.add(value.id)
            record = state.heap.get(value.id)
            if isinstance(record, Tensor) and record.node.leaf in left and record.node.leaf is not None:
                left.discard(record.node.leaf)
                machine.frozen.pop(record.node.leaf)
                state.put(value.id, record._replace(grad=None))
            elif isinstance(record, (Instance, Sequence)):
                stack.extend(record.attrs.values() if isinstance(record, Instance) else record.items)


def is_off(state: State, leaf: int) -> bool:
    """Whether a leaf certainly does not require grad."""
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is False


def is_switched_off(machine: Machine, state: State, root: Node, backward: cst.CSTNode) -> bool:
    """Whether a backward raises because of a switch that is still off; then that is what the program is told."""
    switch: cst.CSTNode | None = None
    if state.off is not None and state.grad is False and root.id > state.off[0]:
        switch = state.off[1]
    elif machine.frozen:
        switch = _frozen_behind(machine, state, root)
    if switch is None:
        return False
    machine.emit(GraphSwitchedOff(switch, backward))
    return True


def _frozen_behind(machine: Machine, state: State, root: Node) -> cst.CSTNode | None:
    """Where a leaf was frozen that the root is computed from; None if nothing trains it on any path."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.id in seen or not node.live or node.cut in _MEANT:
            continue
        seen.add(node.id)
        if node.leaf in machine.frozen and node.leaf is not None and is_off(state, node.leaf):
            wanted = node.syntax in machine.trained or node.leaf in machine.optimized
            return machine.frozen[node.leaf] if wanted else None
        stack.extend(edge.node for edge in node.edges)
    return None
