"""Absence, judged when all paths are known: what no backward of the program reaches.

That a parameter is not reached by one backward says little; another may reach it. So what is seen on the way is
noted here by the place where a leaf was made, and judged behind the last path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from gradlint.domain.event import Event, Given, LostLeaf
from gradlint.domain.graph import Node

if TYPE_CHECKING:
    from gradlint.semantics.machine import Machine


class LostOne(NamedTuple):
    """A leaf that one backward did not reach: the event to tell of it, and what speaks for a wish.

    `reborn` is the new leaf that was made of the value, `alone` says that the backward reached nothing but such
    leaves, `dropped` that torch had recorded a graph up to the cut, `started` that the backward starts at the new leaf.
    """

    event: LostLeaf
    wished: bool
    reborn: Node | None
    alone: bool
    dropped: bool
    started: bool


@dataclass
class Gradients:
    """What all paths together know of gradients; leaves are named by the syntax that made them.

    `reached`: some backward may fill them, with more than zeros. `optimized`: given to an optimizer, and to which.
    `starved`: behind which backwards an optimizer's step found no gradient in them. `read`: the program reads their
    `.grad`. `spared`: switched off at some time. `escaped`: graphs that went where gradlint does not look. `blind`:
    some backward starts at a graph that is not known. `gone`: the objects that went the same way, by address.
    `given`: what a call that copies was given.
    """

    reached: set[cst.CSTNode] = field(default_factory=set)
    optimized: dict[cst.CSTNode, set[cst.CSTNode]] = field(default_factory=dict)
    starved: dict[cst.CSTNode, set[cst.CSTNode]] = field(default_factory=dict)
    read: set[cst.CSTNode] = field(default_factory=set)
    spared: set[cst.CSTNode] = field(default_factory=set)
    escaped: dict[int, Node] = field(default_factory=dict)
    blind: bool = False
    lost: list[LostOne] = field(default_factory=list)
    gone: dict[int, object] = field(default_factory=dict)
    given: dict[cst.CSTNode, Given] = field(default_factory=dict)

    def let_go(self, node: Node) -> None:
        """A graph goes where gradlint does not look: a backward may run there."""
        if node.live:
            self.escaped[node.id] = node


def judge(machine: Machine) -> None:
    """Emit what is certain of leaves that no backward reaches."""
    gradients = machine.gradients
    if not gradients.lost:
        return
    reached = gradients.reached | _makings(gradients.escaped.values())
    closed = not gradients.blind and not any(machine.give_ups[what] for what in _GIVEN_UP)
    for making, group in _by_leaf(gradients.lost).items():
        if making in reached:
            continue
        event = _verdict(gradients, making, group, closed and making not in gradients.spared, reached)
        if event is not None:
            machine.emit(event)


_GIVEN_UP = ("out of steps", "paths dropped", "calls too deep")


def _by_leaf(lost: list[LostOne]) -> dict[cst.CSTNode, list[LostOne]]:
    groups: dict[cst.CSTNode, list[LostOne]] = {}
    for one in lost:
        groups.setdefault(one.event.leaf, []).append(one)
    return groups


def _makings(roots: Iterable[Node]) -> set[cst.CSTNode]:
    """Where the leaves were made to which a gradient may flow from any of the nodes."""
    found: set[cst.CSTNode] = set()
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.id in seen or not node.live:
            continue
        seen.add(node.id)
        if node.leaf is not None:
            found.add(node.syntax)
        stack.extend(edge.node for edge in node.edges if edge.flows is not False)
    return found


def _verdict(
    gradients: Gradients, making: cst.CSTNode, group: list[LostOne], closed: bool, reached: set[cst.CSTNode]
) -> Event | None:
    """What to say of a leaf that nothing reaches: the cut to blame, if a gradient was wanted there for certain."""
    one = _blamed(gradients, making, group)
    optimizers = gradients.optimized.get(making, set())
    if not optimizers and one.event.parameter and gradients.optimized:
        return None  # The program trains other parameters.
    if not optimizers and one.reborn is not None and not one.started and one.event.kind == "detach":
        return None  # `x.detach().requires_grad_()` is how a new leaf is asked for.
    if one.reborn is not None and (one.alone or one.event.kind in _TELLING):
        return _reborn(gradients, one)
    if one.reborn is not None and _used(gradients, one.reborn):
        return None
    if not one.wished:
        return one.event
    if optimizers and closed:
        return replace(one.event, idle=_idle(gradients, optimizers, reached))
    if not gradients.optimized and one.dropped and one.event.kind == "no_grad":
        return one.event
    return None


def _blamed(gradients: Gradients, making: cst.CSTNode, group: list[LostOne]) -> LostOne:
    """The cut to blame: that of the backward before the step that found nothing, and rather an accident."""
    starved = gradients.starved.get(making, set())
    return min(group, key=lambda one: (one.event.backward not in starved, one.wished))


def _reborn(gradients: Gradients, one: LostOne) -> Event | None:
    """A new leaf was made of a cut value: a hack, unless the leaf is trained or its gradient used."""
    assert one.reborn is not None
    leaf = one.reborn
    if _used(gradients, leaf):
        return None
    if one.event.kind in _TELLING:
        return one.event
    return replace(one.event, node=leaf.place or leaf.syntax, kind="hack", cut=one.event.node)


def _used(gradients: Gradients, leaf: Node) -> bool:
    """Whether a new leaf is trained itself, or its gradient read."""
    return leaf.syntax in gradients.optimized or leaf.syntax in gradients.read


_TELLING = frozenset({"nondiff", "integer", "sample", "zero"})
"""Cuts by an operation: that it has no gradient says more than that the flag was switched on behind it."""


def _idle(gradients: Gradients, optimizers: set[cst.CSTNode], reached: set[cst.CSTNode]) -> bool:
    """Whether an optimizer among them has nothing at all to do."""
    held: dict[cst.CSTNode, list[cst.CSTNode]] = {}
    for leaf, holders in gradients.optimized.items():
        for holder in holders:
            held.setdefault(holder, []).append(leaf)
    return any(not any(leaf in reached for leaf in held[one]) for one in optimizers)
