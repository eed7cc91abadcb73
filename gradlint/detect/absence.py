"""Absence, judged when all paths are known: what no backward of the program reaches.

That a parameter is not reached by one backward says little; another may reach it. So what is seen on the way is
noted here by the place where a leaf was made, and judged after the last path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import libcst as cst

from gradlint.domain.fault.lost_gradient import Given, LostLeaf
from gradlint.domain.graph import LeafKey, Node, Site, leaf_key
from gradlint.domain.state import PathFact
from gradlint.domain.walk import leaves


class LastBackward(PathFact):
    """Which backward came last on this path."""


class LostOne(NamedTuple):
    """A leaf that one backward did not reach: the fault, and what speaks for an intentional cut.

    `releafed` is the new leaf that was made of the value, `alone` says that the backward reached nothing but such
    leaves, `dropped` that torch had recorded a graph up to the cut, `started` that the backward starts at the new leaf.
    """

    key: LeafKey
    fault: LostLeaf
    intended: bool
    releafed: Node | None
    alone: bool
    dropped: bool
    started: bool


@dataclass
class Gradients:
    """What all paths together know of gradients.

    `reached`: some backward may fill them, with more than zeros. `asked`: `autograd.grad` runs through a graph with
    them; the program may do with its answer what it likes. `optimized`: given to an optimizer, and to which.
    `starved`: after which backwards an optimizer's step found no gradient in them. `read`: the program reads their
    `.grad`. `bare`: whether every step of an optimizer found certainly none in them. `spared`: switched off at some
    time. `escaped`: graphs that went where gradlint does not look. `unknown_root`: some backward starts at an unknown
    graph. `given`: what a call that copies was given; `copied`: by a call of `item`, the one that makes a tensor
    of its number at once. `trained`: where the leaves were made that some backward has reached. `undone` and
    `unreached` are what the file leaves undone, as far as it is known: leaves that are lost, and what made parameters
    that no loss depends on.
    """

    reached: set[LeafKey] = field(default_factory=set)
    asked: set[LeafKey] = field(default_factory=set)
    optimized: dict[LeafKey, set[cst.CSTNode]] = field(default_factory=dict)
    starved: dict[LeafKey, set[cst.CSTNode]] = field(default_factory=dict)
    read: set[LeafKey] = field(default_factory=set)
    bare: dict[LeafKey, bool] = field(default_factory=dict)
    spared: set[LeafKey] = field(default_factory=set)
    escaped: dict[int, Node] = field(default_factory=dict)
    unknown_root: bool = False
    lost: list[LostOne] = field(default_factory=list)
    given: dict[cst.CSTNode, Given] = field(default_factory=dict)
    copied: dict[cst.CSTNode, cst.Call] = field(default_factory=dict)
    trained: set[cst.CSTNode] = field(default_factory=set)
    undone: list[LostLeaf] = field(default_factory=list)
    unreached: list[cst.CSTNode] = field(default_factory=list)


class Reached:
    """The leaves that some backward may reach."""

    def __init__(self, keys: Iterable[LeafKey]) -> None:
        self._keys = set(keys)
        self._makings = {making for making, _, _ in self._keys}

    def __contains__(self, key: object) -> bool:
        assert isinstance(key, tuple)
        making, _, site = key
        # What a class was made of only to try its methods counts as one with what the program made itself.
        return key in self._keys or (_is_trial(site) and making in self._makings)

    def any_of(self, making: cst.CSTNode) -> bool:
        """Return whether anything that this syntax made may be reached."""
        return making in self._makings


def _is_trial(site: Site) -> bool:
    """Return whether an object was made by nobody but gradlint, in order to run a class that nothing else runs."""
    while site is not None:
        node, site = site
        if site is None:
            return isinstance(node, cst.ClassDef)
    return False


def verdicts(gradients: Gradients, reached: Reached, *, closed: bool) -> Iterator[LostLeaf]:
    """Yield what is certain of the leaves that some backward should reach and does not.

    `closed`: nothing else can reach them.
    """
    groups: dict[LeafKey, list[LostOne]] = {}
    for one in gradients.lost:
        groups.setdefault(one.key, []).append(one)
    for key, group in groups.items():
        if key in reached:
            # Something trains the leaf; but a backward that starts at a leaf trains nothing at all.
            vain = next((one for one in group if one.started and one.alone and one.fault.kind not in _TELLING), None)
            fault = None if vain is None else _releafed(gradients, vain)
        else:
            fault = _verdict(gradients, key, group, closed and key not in gradients.spared, reached)
        if fault is not None:
            yield fault


def reached_leaves(gradients: Gradients) -> Reached:
    """Return the leaves that some backward of the program may reach."""
    asked = {key for key in gradients.asked if not gradients.bare.get(key, False)}
    return Reached({*gradients.reached, *asked, *map(leaf_key, leaves(gradients.escaped.values()))})


def never_reached(gradients: Gradients, reached: Reached) -> Iterator[cst.CSTNode]:
    """Yield what made parameters for an optimizer that no loss depends on, though on others it holds."""
    lost = {one.key[0] for one in gradients.lost}
    makings: dict[cst.CSTNode, bool] = {}
    for key, holders in gradients.optimized.items():
        idle = not gradients.bare.get(key, False) and _idle(gradients, holders, reached)
        excused = idle or key in gradients.spared or key in gradients.read or key in gradients.asked
        makings[key[0]] = makings.get(key[0], True) and not excused
    for making, whole in makings.items():
        if whole and making not in lost and not reached.any_of(making):
            yield making


def _verdict(
    gradients: Gradients, key: LeafKey, group: list[LostOne], closed: bool, reached: Reached
) -> LostLeaf | None:
    """Return what to say of a leaf that nothing reaches: the cut to blame, if a gradient was certainly wanted."""
    one = _blamed(gradients, key, group)
    optimizers = gradients.optimized.get(key, set())
    if not optimizers and one.fault.parameter and gradients.optimized:
        return None  # The program trains other parameters.
    if not optimizers and one.releafed is not None and not one.started and _asks_for_leaf(one.fault):
        return None  # `x.detach().requires_grad_()` and `Variable(x.data)` are how a new leaf is asked for.
    if one.fault.kind == "integer" and not optimizers and _is_made_there(one.fault):
        return None  # Nobody can ask for the gradient of a leaf without a name.
    if one.releafed is not None and (one.alone or one.fault.kind in _TELLING):
        return _releafed(gradients, one)
    if one.releafed is not None and _used(gradients, one.releafed):
        return None
    if not one.intended:
        return one.fault
    if one.fault.kind == "copy" and (key in gradients.read or not gradients.bare.get(key, False)):
        return None  # A copy is trained first, and what it comes to is brought back by hand.
    if key not in gradients.bare and reached.any_of(key[0]):
        return None  # Its optimizer never steps: a copy of what is trained, such as a target network.
    if optimizers and closed:
        return replace(one.fault, idle=_idle(gradients, optimizers, reached))
    if not gradients.optimized and one.dropped and one.fault.kind == "no_grad":
        return one.fault
    return None


def _is_made_there(fault: LostLeaf) -> bool:
    """Return whether the leaf is made in the expression that is cut, as in `zeros(3, requires_grad=True).long()`."""
    func = fault.node.func if isinstance(fault.node, cst.Call) else None
    return isinstance(func, cst.Attribute) and func.value is fault.leaf


def _blamed(gradients: Gradients, key: LeafKey, group: list[LostOne]) -> LostOne:
    """Return the cut to blame: that of the backward before the step that found nothing, and rather an accident."""
    starved = gradients.starved.get(key, set())
    return min(group, key=lambda one: (one.fault.backward not in starved, one.intended))


def _releafed(gradients: Gradients, one: LostOne) -> LostLeaf | None:
    """Return the fault where a new leaf was made of a cut value: a hack, unless it is trained or its gradient used."""
    assert one.releafed is not None
    leaf = one.releafed
    if _used(gradients, leaf):
        return None
    if one.fault.kind in _TELLING:
        return one.fault
    return replace(one.fault, node=leaf.place or leaf.syntax, kind="hack", cut=one.fault.node)


def _used(gradients: Gradients, leaf: Node) -> bool:
    """Return whether a new leaf is trained itself, or its gradient read."""
    key = leaf_key(leaf)
    return key in gradients.optimized or key in gradients.read


_TELLING = frozenset({"nondiff", "integer", "sample", "zero"})
"""Cuts by an operation: that it has no gradient says more than that the flag was switched on after it."""


def _idle(gradients: Gradients, optimizers: set[cst.CSTNode], reached: Reached) -> bool:
    """Return whether an optimizer among them has nothing at all to do."""
    held = gradients.optimized.items()
    return any(not any(leaf in reached for leaf, holders in held if one in holders) for one in optimizers)


def _asks_for_leaf(fault: LostLeaf) -> bool:
    """Return whether a cut is how a new leaf is asked for: `detach`, or a `Variable` of what has no graph."""
    func = fault.node.func if isinstance(fault.node, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    variable = isinstance(name, cst.Name) and name.value == "Variable"
    return fault.kind == "detach" or (fault.kind == "rewrap" and variable)
