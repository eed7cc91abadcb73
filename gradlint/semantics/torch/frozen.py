"""What is switched off and is to be trained: the grad mode of the thread, the flags of parameters."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.semantics.flow import leaf_key
from gradlint.semantics.machine import Machine
from gradlint.semantics.torch import faults

_WISHES = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})


def note_frozen(machine: Machine, record: Tensor, wanted: bool | None, syntax: cst.CSTNode) -> None:
    """The flag of a leaf is set: it is frozen from now on, or trained again."""
    leaf = record.node.leaf
    if leaf is None:
        return
    if wanted is not False:
        machine.ledger.frozen.pop(leaf, None)
    elif record.grad is True:
        machine.ledger.frozen[leaf] = syntax


def is_left_off(machine: Machine, state: State, root: Node, backward: cst.CSTNode) -> bool:
    """Whether a root has no graph because of a switch that is still off; it is reported at the switch."""
    switch: cst.CSTNode | None = None
    if state.off is not None and state.grad is False and root.id > state.off[0]:
        switch = state.off[1]
    elif machine.ledger.frozen:
        switch = _freeze_behind(machine, state, root)
    if switch is None:
        return False
    faults.refused(machine, "grad-mode-left-off", switch, related=[(backward, "the next backward finds no graph")])
    return True


def _freeze_behind(machine: Machine, state: State, root: Node) -> cst.CSTNode | None:
    """Where a leaf was frozen that the root is computed from, on a way that the program has not cut."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.id in seen or not node.live or node.cut in _WISHES:
            continue
        seen.add(node.id)
        if node.leaf in machine.ledger.frozen and node.leaf is not None and _is_off(state, node.leaf):
            wanted = node.syntax in machine.ledger.trained or leaf_key(node) in machine.gradients.optimized
            return machine.ledger.frozen[node.leaf] if wanted else None
        stack.extend(edge.node for edge in node.edges)
    return None


def note_idle_step(machine: Machine, state: State, params: Iterable[Ref], step: cst.CSTNode) -> None:
    """A step of an optimizer all of whose parameters are frozen."""
    frozen = machine.ledger.frozen
    leaves = [param.id for param in params]
    if leaves and frozen and all(leaf in frozen and _is_off(state, leaf) for leaf in leaves):
        related = [(step, "this step finds no gradient any more")]
        faults.noticed(machine, "grad-mode-left-off", frozen[leaves[0]], related=related)


def _is_off(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is False
