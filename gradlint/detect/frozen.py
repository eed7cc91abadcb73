"""What is switched off and is to be trained: the grad mode of the thread, the flags of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import libcst as cst

from gradlint.detect.absence import LastBackward
from gradlint.detect.cuts import EXPLICIT_CUTS
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Instance, NoGradient, Ref, Tensor, Value
from gradlint.domain.walk import inputs, leaves
from gradlint.interpreter.contents import all_attributes, contents
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults


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
    for value in contents(state, values, all_attributes, calls=True) if left else ():
        record = state.heap.get(value.id) if isinstance(value, Ref) else None
        if isinstance(value, Ref) and isinstance(record, Tensor) and record.node.leaf in left:
            left.discard(record.node.leaf)
            machine.ledger.frozen.pop(record.node.leaf)
            state.put(value.id, record._replace(grad=None))


def is_left_off(
    machine: Machine, state: State, root: Node, backward: cst.CSTNode, is_wanted: Callable[[Node], bool]
) -> bool:
    """Whether a root has no graph because of a switch that is still off; it is reported at the switch."""
    switch: cst.CSTNode | None = None
    if state.off is not None and state.grad is False and root.id > state.off[0]:
        switch = state.off[1]
    elif machine.ledger.frozen:
        switch = _freeze_behind(machine, state, root, is_wanted)
    if switch is None:
        return False
    faults.refused(machine, "grad-mode-left-off", switch, related=[(backward, "the next backward finds no graph")])
    return True


def _freeze_behind(machine: Machine, state: State, root: Node, is_wanted: Callable[[Node], bool]) -> cst.CSTNode | None:
    """Where a leaf was frozen that the root is computed from, on a way that the program has not cut."""
    for node in leaves([root], _uncut_inputs):
        if node.leaf in machine.ledger.frozen and node.leaf is not None and _is_off(state, node.leaf):
            return machine.ledger.frozen[node.leaf] if is_wanted(node) else None
    return None


def _uncut_inputs(node: Node) -> list[Node]:
    return [] if node.cut in EXPLICIT_CUTS else inputs(node)


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
        if LastBackward() in state.facts:
            constant = all(_is_constant(machine, state, param) for param in params)
            _, first = ledger.constants.get(number, (made.syntax, step))
            ledger.constants[number] = made.syntax, first if constant else None


def _is_constant(machine: Machine, state: State, param: Ref) -> bool:
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor) or record.grad is not False or param.id in machine.ledger.frozen:
        return False
    # A graph that went elsewhere fills no gradient of what is in none, unless the tensor went there itself.
    empty = record.accumulated is None or isinstance(record.accumulated, NoGradient)
    kept = empty and not record.parameter and param.id not in machine.escaped
    return kept or is_absent(state, param, record.accumulated)


def is_absent(state: State, param: Ref, gradient: Value) -> bool:
    """Whether a parameter certainly has no gradient."""
    if gradient is None:
        return param.id > state.escaped
    return isinstance(gradient, NoGradient) and gradient.since > state.escaped


def _is_off(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is False
