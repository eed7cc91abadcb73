"""What is switched off and is to be trained: the grad mode of the thread, the flags of parameters."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.graph import Node, leaf_key
from gradlint.domain.state import State
from gradlint.domain.value import Bound, Instance, NoGradient, Ref, Sequence, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.backward import LAST_BACKWARD

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


def thaw(machine: Machine, state: State, values: Iterable[Value]) -> None:
    """Something unknown is given what is frozen: it may switch it on again."""
    left = {leaf for leaf in machine.ledger.frozen if _is_off(state, leaf)}
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
                machine.ledger.frozen.pop(record.node.leaf)
                state.put(value.id, record._replace(grad=None))
            elif isinstance(record, (Instance, Sequence)):
                stack.extend(record.attrs.values() if isinstance(record, Instance) else record.items)


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


def note_idle_step(machine: Machine, state: State, optimizer: Ref, params: tuple[Ref, ...], step: cst.CSTNode) -> None:
    """A step of an optimizer all of whose parameters are frozen, or never required grad.

    That it is a fault shows only later: a part of a network may be trained from some epoch on.
    """
    made = state[optimizer]
    if not isinstance(made, Instance) or made.syntax is None or not params or machine.expected:
        return
    ledger, frozen, number = machine.ledger, machine.ledger.frozen, optimizer.id
    if frozen and all(param.id in frozen and _is_off(state, param.id) for param in params):
        ledger.idle.setdefault(number, (made.syntax, frozen[params[0].id], step))
    else:
        ledger.idle.pop(number, None)
        if LAST_BACKWARD in state.facts:
            constant = all(_is_constant(machine, state, param) for param in params)
            _, first = ledger.constants.get(number, (made.syntax, step))
            ledger.constants[number] = made.syntax, first if constant else None


def _is_constant(machine: Machine, state: State, param: Ref) -> bool:
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor) or record.grad is not False or param.id in machine.ledger.frozen:
        return False
    # A graph that went elsewhere fills no gradient of what is in none, unless the tensor went there itself.
    empty = record.accumulated is None or isinstance(record.accumulated, NoGradient)
    kept = empty and not record.parameter and param.id not in machine.gradients.gone
    return kept or is_absent(state, param, record.accumulated)


def is_absent(state: State, param: Ref, gradient: Value) -> bool:
    """Whether a parameter certainly has no gradient."""
    if gradient is None:
        return param.id > state.escaped
    return isinstance(gradient, NoGradient) and gradient.since > state.escaped


def _is_off(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is False
