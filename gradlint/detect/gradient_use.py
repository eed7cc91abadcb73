"""What is known of the gradients of one optimizer: who filled them, who used them, and who threw them away.

A gradient that a step has used and that nothing has touched since is recognised by its version counter, so that it does
not matter how gradients are cleared.
"""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Tri
from gradlint.domain.state import PathFact, State
from gradlint.domain.value import Ref, Tensor, Unknown
from gradlint.interpreter.torch.parameters import members_of
from gradlint.interpreter.torch.tensor import is_absent

WATCHED = 4
"""How many gradients of an optimizer are looked at: a loop treats them alike."""

_SUMS = frozenset({"backward", "clip_grad", "unscale_"})


class UsedGradient(NamedTuple):
    """A gradient that a step has used, and the writes that its two counters had seen by then."""

    leaf: int
    gradient: Ref
    writes: int
    hidden: int


class Used(NamedTuple):
    """Gradients that a step has used."""

    step: cst.CSTNode
    gradients: tuple[UsedGradient, ...]


class Order(NamedTuple):
    """What has happened to the gradients of one optimizer.

    `filled`: the backward that filled them, if no step has used them since. `mixed`: a backward that added to gradients
    used before. `wiped`: the zero_grad that threw unused gradients away, and the backward that had filled them. `idle`:
    a step that found none. `stepped`: whether there was any step. `made`: when the optimizer was made, if nothing but
    steps has happened since, and the gradients that there were; a later backward has a greater number.
    """

    filled: cst.CSTNode | None = None
    used: Used | None = None
    mixed: tuple[cst.CSTNode, Used] | None = None
    wiped: tuple[cst.CSTNode, cst.CSTNode] | None = None
    idle: cst.CSTNode | None = None
    stepped: Tri = False
    made: tuple[int, tuple[object, ...]] | None = None


class OrderOf(PathFact):
    """The key of the `Order` of an optimizer, or of a leaf that the program updates by hand."""


class Owes(PathFact):
    """The mark of an optimizer that has used gradients which nothing has cleared since."""


class Unused(NamedTuple):
    """Gradients that nothing has used: the backward that filled them, since when, and in which iteration.

    `alone`: no other optimizer has stepped since then; of two, each may have its iterations.
    """

    backward: cst.CSTNode
    since: int
    iteration: int
    alone: bool = True


class UnusedOf(PathFact):
    """The key of the `Unused` of an optimizer."""


class ThrownAway(PathFact):
    """The key of the `Cleared` of an optimizer: an iteration of a loop has cleared what the one before had filled."""


class Cleared(NamedTuple):
    """Gradients that were cleared unused, by every iteration of a loop: the backward, where, and the loop."""

    backward: cst.CSTNode
    node: cst.CSTNode
    loop: int


class ClearedAt(PathFact):
    """The key of the number at which the gradients of an optimizer were cleared: a later backward has a greater one."""


class EarlyStep(PathFact):
    """The key of the `Early` step of a scheduler before its optimizer did."""


class Early(NamedTuple):
    """Where a scheduler stepped too early, and in which iterations."""

    node: cst.CSTNode
    iterations: tuple[int, ...]


def order_of(state: State, optimizer: int) -> Order | None:
    """Return what is known of an optimizer; None where paths with different histories were joined."""
    found = state.facts.get(OrderOf(optimizer))
    return found if isinstance(found, Order) else None


def enter(state: State, optimizer: int, order: Order | None) -> None:
    """Remember what has happened to the gradients of an optimizer."""
    state.decide(OrderOf(optimizer), order)
    state.mark(Owes(optimizer), order is not None and (order.used is not None or order.mixed is not None))


def forget_all(state: State) -> None:
    """Forget what is known of all optimizers."""
    forget_orders(state)
    state.marks = frozenset(one for one in state.marks if not isinstance(one, Owes))


def forget_orders(state: State) -> None:
    """Forget which backward and step came last, of all optimizers."""
    for key in [key for key in state.facts if isinstance(key, (OrderOf, EarlyStep))]:
        state.decide(key, None)


def params_of(state: State, optimizer: int) -> tuple[Ref, ...]:
    """Return the parameters that an optimizer is known to hold; a leaf that is updated by hand is its own."""
    if isinstance(state.heap.get(optimizer), Tensor):
        return (Ref(optimizer),)
    return members_of(state, Ref(optimizer))


def gradients_of(state: State, params: Collection[Ref]) -> tuple[object, ...]:
    """Return the gradients of some parameters as they are, whatever is known of them."""
    records = (state.heap.get(param.id) for param in islice(params, WATCHED))
    return tuple(record.accumulated if isinstance(record, Tensor) else None for record in records)


def used_now(state: State, params: Collection[Ref], node: cst.CSTNode) -> Used | None:
    """Return the gradients that a step uses, as they are now; None if no parameter has any."""
    found: list[UsedGradient] = []
    for param in params:
        record = state.heap.get(param.id)
        gradient = record.accumulated if isinstance(record, Tensor) else None
        kept = state.heap.get(gradient.id) if isinstance(gradient, Ref) else None
        if isinstance(gradient, Ref) and isinstance(kept, Tensor):
            found.append(UsedGradient(param.id, gradient, *_writes(state, kept)))
        if len(found) == WATCHED:
            break
    return Used(node, tuple(found)) if found else None


def _writes(state: State, kept: Tensor) -> tuple[int, int]:
    return len(state.writes(kept.counter)), len(state.writes(kept.memory))


def untouched(state: State, used: Used) -> tuple[UsedGradient, ...]:
    """Return the gradients that nothing has written to, or replaced, since a step used them."""
    return tuple(one for one in used.gradients if _is_untouched(state, one))


def _is_untouched(state: State, one: UsedGradient) -> bool:
    kept = _still_there(state, one)
    return kept is not None and _writes(state, kept) == (one.writes, one.hidden)


def is_sum(state: State, one: UsedGradient) -> bool:
    """Return whether backwards, and nothing else, have written to a gradient since a step used it."""
    kept = _still_there(state, one)
    if kept is None or len(state.writes(kept.memory)) != one.hidden:
        return False
    return all(what.op in _SUMS and what.certain for what in state.writes(kept.counter)[one.writes :])


def _still_there(state: State, one: UsedGradient) -> Tensor | None:
    record, kept = state.heap.get(one.leaf), state.heap.get(one.gradient.id)
    if not isinstance(record, Tensor) or not isinstance(kept, Tensor) or record.accumulated != one.gradient:
        return None
    return kept


def is_empty(state: State, param: Ref) -> bool:
    """Return whether a gradient is certainly None, or was set to zero last."""
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor):
        return False
    kept = state.heap.get(record.accumulated.id) if isinstance(record.accumulated, Ref) else None
    hidden = isinstance(kept, Tensor) and bool(state.writes(kept.memory))  # As by `grad.data.copy_()`.
    writes = state.writes(kept.counter) if isinstance(kept, Tensor) and not hidden else ()
    return is_absent(state, param, record.accumulated) or (bool(writes) and writes[-1].op == "zero_grad")


def was_cleared(state: State, param: Ref) -> bool:
    """Return whether the program has cleared a gradient, as an iteration begins; one never filled is no sign."""
    record = state.heap.get(param.id)
    return isinstance(record, Tensor) and record.accumulated is not None


class Fork(NamedTuple):
    """A fork on a path, and the test that was undecided there."""

    number: int
    test: object


def forks_since(state: State, number: int) -> list[Fork]:
    """Return where this path went one of two ways: what `assume` notes after the number of a fork is its test."""
    keys = list(state.facts)
    forks = zip(keys, [*keys[1:], None], strict=True)
    return [Fork(one, test) for one, test in forks if type(one) is int and one > number]


def is_remainder(test: object) -> bool:
    """Return whether a test is about a remainder, which counts, and says nothing about data."""
    key = test.key if isinstance(test, Unknown) else None
    return key is not None and (key[0] == "%" or any(map(is_remainder, key[1:])))
