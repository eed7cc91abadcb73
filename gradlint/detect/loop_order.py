"""The order of a training loop: who filled the gradients of an optimizer, who used them, and who threw them away.

What is known of each optimizer stands in the facts of a state, so that paths on which it differs forget it. A
gradient that a step has used and that nothing has touched since is recognised by its version counter, so that it does
not matter how gradients are cleared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Tri
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Bound, Instance, Mapping, NoGradient, Ref, Sequence, Tensor, Value
from gradlint.domain.walk import inputs, is_reachable
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults

WATCHED = 4
"""How many gradients of an optimizer are looked at: a loop treats them alike."""


class Used(NamedTuple):
    """Gradients that a step has used: where, and each with the writes that it had seen by then."""

    step: cst.CSTNode
    gradients: tuple[tuple[int, Ref, int, int], ...]


class Order(NamedTuple):
    """What has happened to the gradients of one optimizer.

    `filled`: the backward that filled them, if no step has used them since; `scaled` whether it was that of a scaled
    loss. `mixed`: a backward that added to gradients used before. `wiped`: the zero_grad that threw unused gradients
    away, and the backward that had filled them. `idle`: a step that found none. `stepped`: whether there was any step.
    """

    filled: cst.CSTNode | None = None
    scaled: Tri = False
    used: Used | None = None
    mixed: tuple[cst.CSTNode, Used] | None = None
    wiped: tuple[cst.CSTNode, cst.CSTNode] | None = None
    idle: cst.CSTNode | None = None
    stepped: Tri = False


@dataclass(frozen=True)
class OrderOf(PathFact):
    """What has happened to the gradients of an optimizer: an `Order`."""

    optimizer: int


@dataclass(frozen=True)
class StagesOf(PathFact):
    """What has become of the optimizers of a scaler since it was updated last: `Stages`."""

    scaler: int


@dataclass(frozen=True)
class EarlyStep(PathFact):
    """Where a scheduler stepped before its optimizer did."""

    optimizer: int


_ORDERS = (OrderOf, StagesOf, EarlyStep)


def order_of(state: State, optimizer: int) -> Order | None:
    """What is known of an optimizer; None where paths with different histories have met."""
    found = state.facts.get(OrderOf(optimizer))
    return found if isinstance(found, Order) else None


def _enter(state: State, optimizer: int, order: Order | None) -> None:
    state.decide(OrderOf(optimizer), order)
    state.owed -= {optimizer}
    if order is not None and (order.used is not None or order.mixed is not None):
        state.owed |= {optimizer}


def made(machine: Machine, state: State, optimizer: Ref) -> None:
    """An optimizer begins without gradients of its own."""
    machine.optimizers.append(optimizer.id)
    _enter(state, optimizer.id, Order())


def forget(state: State) -> None:
    """Anything may have happened to gradients, optimizers and scalers."""
    for key in [key for key in state.facts if isinstance(key, _ORDERS)]:
        state.decide(key, None)
    state.owed = frozenset()


def handed_out(machine: Machine, state: State, values: Iterable[Value]) -> None:
    """Something unknown is given objects: it may clear gradients, and step."""
    if machine.optimizers and any(_holds(state, value) for value in values):
        machine.ledger.busy.update(machine.optimizers)
        for optimizer in machine.optimizers:
            if order_of(state, optimizer) is not None:
                _enter(state, optimizer, None)


def _holds(state: State, value: Value, depth: int = 2) -> bool:
    """Whether a value is an object, or holds objects or leaves."""
    if isinstance(value, Bound):
        return _holds(state, value.receiver, depth)
    if type(value) is tuple:
        return depth > 0 and any(_holds(state, part, depth - 1) for part in value)
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor):
        return record.parameter
    if isinstance(record, Sequence):
        return depth > 0 and any(_holds(state, part, depth - 1) for part in record.items)
    if isinstance(record, Mapping):
        return depth > 0 and any(_holds(state, part, depth - 1) for part in record.items.values())
    return isinstance(record, Instance)


def params_of(state: State, optimizer: int) -> tuple[Ref, ...]:
    """The parameters that an optimizer is known to hold; a leaf that is updated by hand is its own."""
    record = state.heap.get(optimizer)
    if isinstance(record, Tensor):
        return (Ref(optimizer),)
    params = record.attrs.get("<params>", ()) if isinstance(record, Instance) else ()
    return params if isinstance(params, tuple) else ()


def fed(
    machine: Machine,
    state: State,
    certain: set[int],
    possible: set[int],
    node: cst.CSTNode,
    *,
    scaled: Tri,
    blind: bool,
) -> None:
    """A backward is about to add into the gradients of leaves; `blind`: and perhaps of others that are not known."""
    for optimizer in machine.optimizers:
        params = params_of(state, optimizer)
        order = order_of(state, optimizer)
        if not any(param.id in certain for param in params):
            if blind or any(param.id in possible for param in params):
                _enter(state, optimizer, None)
            continue
        idle, stepped = (None, None) if order is None else (order.idle, order.stepped)
        if idle is not None and order is not None and order.used is None:
            machine.ledger.late.setdefault(idle, (optimizer, node))
        mixed = None if order is None else order.mixed or _mixed(state, order.used, certain, node)
        _enter(state, optimizer, Order(filled=node, scaled=scaled, mixed=mixed, idle=idle, stepped=stepped))


def _mixed(state: State, used: Used | None, certain: set[int], node: cst.CSTNode) -> tuple[cst.CSTNode, Used] | None:
    """The backward that adds to gradients which a step has used and nothing has cleared."""
    kept = () if used is None else tuple(one for one in untouched(state, used) if one[0] in certain)
    return None if used is None or not kept else (node, Used(used.step, kept))


def _judge_missing(machine: Machine, state: State, optimizer: int, order: Order) -> None:
    """A step uses the mixture: others may have cleared it, as a discriminator clears what its generator left."""
    if order.mixed is None:
        return
    backward, used = order.mixed
    apart = state.undecided_since(min(gradient.id for _, gradient, *_ in used.gradients))
    if apart and machine.ledger.zeroed[optimizer] >= len(machine.iterations):
        return  # It steps in some turns and clears in some, which may be the same ones.
    if any(_is_sum(state, *one) for one in used.gradients):
        related = ((used.step, "this step has used the gradients already"),)
        faults.noticed(machine, "zero-grad-missing", backward, related=related)


def _is_sum(state: State, leaf: int, gradient: Ref, writes: int, hidden: int) -> bool:
    """Whether backwards, and nothing else, have written to a gradient since."""
    record, kept = state.heap.get(leaf), state.heap.get(gradient.id)
    if not isinstance(record, Tensor) or not isinstance(kept, Tensor) or record.accumulated != gradient:
        return False
    since = state.writes(kept.counter)[writes:]
    return all(one.op in _SUMS and one.certain for one in since) and len(state.writes(kept.memory)) == hidden


_SUMS = frozenset({"backward", "clip_grad", "unscale_"})


def untouched(state: State, used: Used) -> list[tuple[int, Ref, int, int]]:
    """The gradients that nothing has written to, or replaced, since a step used them."""
    return [one for one in used.gradients if _is_untouched(state, *one)]


def _is_untouched(state: State, leaf: int, gradient: Ref, writes: int, hidden: int) -> bool:
    record, kept = state.heap.get(leaf), state.heap.get(gradient.id)
    return (
        isinstance(record, Tensor)
        and isinstance(kept, Tensor)
        and record.accumulated == gradient
        and (len(state.writes(kept.counter)), len(state.writes(kept.memory))) == (writes, hidden)
    )


def scheduled(state: State, optimizer: Ref, node: cst.CSTNode) -> None:
    """A scheduler steps: too early, if the optimizer has not stepped so far, and does so later."""
    order = order_of(state, optimizer.id)
    key = EarlyStep(optimizer.id)
    if order is not None and order.stepped is False and key not in state.facts:
        state.decide(key, node)


def stepped(machine: Machine, state: State, optimizer: Ref, node: cst.CSTNode) -> None:
    """An optimizer steps, without a closure."""
    order = order_of(state, optimizer.id)
    early = state.facts.get(EarlyStep(optimizer.id))
    if isinstance(early, cst.CSTNode):
        faults.noticed(machine, "scheduler-before-optimizer", early)
        state.decide(EarlyStep(optimizer.id), None)
    params = params_of(state, optimizer.id)
    used = _snapshot(state, params, node)
    nothing = all(_is_empty(state, param) for param in params)
    if order is None or not nothing or not all(_is_cleared(state, param) for param in params):
        machine.ledger.busy.add(optimizer.id)
    if order is not None:
        _judge_missing(machine, state, optimizer.id, order)
    if order is not None and order.wiped is not None and nothing:
        _judge_wiped(machine, order, node)
        _enter(state, optimizer.id, Order(idle=order.idle, stepped=True))
    elif used is not None and not nothing:
        _enter(state, optimizer.id, Order(used=used, stepped=True))
    elif order is not None:
        idle = node if nothing and order.filled is None else order.idle
        _enter(state, optimizer.id, order._replace(filled=None, idle=idle, stepped=True))


def stepped_by_hand(machine: Machine, state: State, leaf: int, sources: Iterable[Edge], node: cst.CSTNode) -> None:
    """A leaf is written past the tape: an update by hand, if its own gradient stands behind what is written."""
    record = state.heap.get(leaf)
    gradient = record.accumulated if isinstance(record, Tensor) and record.grad is True else None
    kept = state.heap.get(gradient.id) if isinstance(gradient, Ref) else None
    if not isinstance(kept, Tensor) or not is_reachable(kept.node, [edge.node for edge in sources], inputs):
        return
    if leaf not in machine.optimizers:
        if machine.by_hand[node] == WATCHED:
            return
        machine.by_hand[node] += 1
        machine.optimizers.append(leaf)
    stepped(machine, state, Ref(leaf), node)


def _judge_wiped(machine: Machine, order: Order, node: cst.CSTNode) -> None:
    assert order.wiped is not None
    zero, backward = order.wiped
    if order.idle is node:
        related = ((backward, "this backward fills the gradients"), (zero, "and they are thrown away here"))
        faults.noticed(machine, "step-before-backward", node, related=related)
    else:
        related = ((backward, "this backward filled the gradients"), (node, "this step finds none"))
        faults.noticed(machine, "zero-grad-misplaced", zero, related=related)


def _snapshot(state: State, params: tuple[Ref, ...], node: cst.CSTNode) -> Used | None:
    found: list[tuple[int, Ref, int, int]] = []
    for param in params:
        record = state.heap.get(param.id)
        gradient = record.accumulated if isinstance(record, Tensor) else None
        kept = state.heap.get(gradient.id) if isinstance(gradient, Ref) else None
        if isinstance(gradient, Ref) and isinstance(kept, Tensor):
            found.append((param.id, gradient, len(state.writes(kept.counter)), len(state.writes(kept.memory))))
        if len(found) == WATCHED:
            break
    return Used(node, tuple(found)) if found else None


def _is_empty(state: State, param: Ref) -> bool:
    """Whether a gradient is certainly None, or was set to zero last."""
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor):
        return False
    gradient = record.accumulated
    if gradient is None:
        return param.id > state.escaped
    if isinstance(gradient, NoGradient):
        return gradient.since > state.escaped
    kept = state.heap.get(gradient.id) if isinstance(gradient, Ref) else None
    writes = state.writes(kept.counter) if isinstance(kept, Tensor) else ()
    return bool(writes) and writes[-1].op == "zero_grad"


def _is_cleared(state: State, param: Ref) -> bool:
    """Whether the program has cleared a gradient, which begins the turn of a loop; one that never was is no sign."""
    record = state.heap.get(param.id)
    return isinstance(record, Tensor) and record.accumulated is not None


def zeroed(machine: Machine, state: State, params: Iterable[Ref], node: cst.CSTNode) -> None:
    """Gradients are cleared by the zero_grad of an optimizer or a module."""
    cleared = {param.id for param in params}
    for optimizer in machine.optimizers:
        held = params_of(state, optimizer)
        if held and all(param.id in cleared for param in held):
            _wipe(machine, state, optimizer, node)


def dropped(machine: Machine, state: State, param: Ref, node: cst.CSTNode) -> None:
    """param.grad = None: the last of an optimizer's parameters clears them all, where the others are clear."""
    for optimizer in machine.optimizers:
        held = params_of(state, optimizer)
        if held and held[-1] == param and all(_is_empty(state, one) for one in held):
            _wipe(machine, state, optimizer, node)


def _wipe(machine: Machine, state: State, optimizer: int, node: cst.CSTNode) -> None:
    machine.ledger.zeroed[optimizer] = max(machine.ledger.zeroed[optimizer], len(machine.iterations))
    order = order_of(state, optimizer) or Order(stepped=None)
    wiped = (node, order.filled) if order.filled is not None else order.wiped
    _enter(state, optimizer, Order(wiped=wiped, idle=order.idle, stepped=order.stepped))


def clipped(machine: Machine, state: State, params: list[Ref], node: cst.CSTNode, *, whole: bool) -> None:
    """Gradients are clipped: they must be there, not used yet, and of their true size.

    `whole`: no more parameters are given than these.
    """
    if not params:
        return
    records = [state.heap[param.id] for param in params]
    if any(isinstance(one, Tensor) and one.leaf is False and one.retains is False for one in records):
        faults.noticed(machine, "clip-misplaced", node, "what is no leaf has no gradient to clip")
        return
    if whole and all(_is_empty(state, param) for param in params):
        if not machine.expected:
            machine.ledger.clips[node] = None  # A fault where the program makes gradients at all.
        return
    given = {param.id for param in params}
    for optimizer in machine.optimizers:
        order = order_of(state, optimizer)
        if order is None or not any(param.id in given for param in params_of(state, optimizer)):
            continue
        if order.used is not None and any(leaf in given for leaf, *_ in untouched(state, order.used)):
            related = ((order.used.step, "this step has used the gradients as they were"),)
            faults.noticed(machine, "clip-misplaced", node, "the step is over", related)
        elif order.filled is not None and order.scaled is True:
            related = ((order.filled, "this is the backward of a scaled loss"),)
            faults.noticed(machine, "clip-misplaced", node, "the gradients are still scaled", related)
