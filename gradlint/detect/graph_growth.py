"""Places that hold the graphs of every iteration of a loop so far.

A place grows if at the end of the last iteration it holds what it held at the end of the one before, and more. That a
graph is held in vain is certain where a backward has run through it and freed it; or where none ever does, which shows
only at the end of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.graph_use import GraphUseDetector
from gradlint.detect.lost_gradient import LostGradientDetector
from gradlint.domain import announcement, walk
from gradlint.domain.fault.training_loop import EvalKeepsGraph, GraphAccumulates, StateNotDetached
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Mapping, Ref, Tensor, Unknown, Value
from gradlint.domain.walk import back_to, certain_inputs, leaves, reachable, sloped_inputs
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ACCUMULATES, SCALES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import ARITHMETIC, Held, Place, Root, held_by, is_alive, root_of
from gradlint.interpreter.torch.parameters import parameters_of
from gradlint.interpreter.torch.tensor import tensor_at


class Growing(NamedTuple):
    """A place that grows, and the roots within it. `certain`: whatever follows, what it keeps is of no use."""

    fault: GraphAccumulates | EvalKeepsGraph | StateNotDetached
    within: tuple[Root, ...]
    certain: bool


@dataclass
class Loop:
    """A loop that runs: the state before it, and how many backwards and steps there were by then.

    `marks` are when its iterations began, and `held` is what places held at the end of each, on any path. The roots are
    keys: a dict keeps their order, and findings name the first of them.
    """

    before: State
    backwards: int
    steps: int
    marks: list[int] = field(default_factory=list)
    held: list[dict[Place, dict[Root, None]]] = field(default_factory=list)


@dataclass
class Growth:
    """What the loops of a run leave.

    `stored`: where a container was given a value. `evaluated`: where the leaves were made of networks that were sent to
    evaluation. `waiting`: the places that grow, by where, as they were found on each path. `culprits`: what they hold,
    and whether one of them is at fault for certain.
    """

    backwards: int = 0
    steps: int = 0
    loops: dict[int, Loop] = field(default_factory=dict)
    stored: dict[tuple[object, Value], cst.CSTNode] = field(default_factory=dict)
    evaluated: set[cst.CSTNode] = field(default_factory=set)
    waiting: dict[cst.CSTNode, list[Growing]] = field(default_factory=dict)
    culprits: dict[Root, bool] = field(default_factory=dict)


class GraphGrowthDetector(Detector[Growth]):
    """Compares what places hold at the ends of the iterations of each loop."""

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Count the backward."""
        self.facts.backwards += 1

    def on_differentiated(self, state: State, it: announcement.Differentiated) -> None:
        """Count it as a backward."""
        self.facts.backwards += 1

    def on_stepped(self, state: State, it: announcement.Stepped) -> None:
        """Count the step."""
        self.facts.steps += 1

    def on_mode_switched(self, state: State, it: announcement.ModeSwitched) -> None:
        """Remember the leaves of a network that is evaluated."""
        if it.training is False:
            leaves = parameters_of(state, it.module)[0]
            self.facts.evaluated |= {tensor_at(state, one).node.syntax for _, one in leaves}

    def on_stored(self, state: State, it: announcement.Stored) -> None:
        """Remember where a container was given what may have a graph."""
        if isinstance(it.container, Ref) and _may_hold(it.value):
            self.facts.stored[it.container.id, it.value] = it.node

    def on_loop_began(self, state: State, it: announcement.LoopBegan) -> None:
        """Begin to watch a loop."""
        self.facts.loops[it.loop] = Loop(state, self.facts.backwards, self.facts.steps)

    def on_iteration_began(self, state: State, it: announcement.IterationBegan) -> None:
        """Remember when the iteration began: what is made in it is younger."""
        self.facts.loops[it.loop].marks.append(it.since)

    def on_iteration_ended(self, state: State, it: announcement.IterationEnded) -> None:
        """Remember what places hold, on any path."""
        loop = self.facts.loops[it.loop]
        union: dict[Place, dict[Root, None]] = {}
        for path in it.paths:
            for place, held in held_by(path, loop.before).items():
                union.setdefault(place, {}).update((one.root, None) for one in held)
        loop.held.append(union)

    def on_loop_ended(self, state: State, it: announcement.LoopEnded) -> None:
        """Enter the places that grow; those that no backward releases only where data bounds the loop."""
        loop = self.facts.loops.pop(it.loop)
        if len(loop.held) < 2 or not any(loop.held):
            return
        around = self.machine.iterations
        began = around[-1] if around else loop.before.frame
        judged = _LoopJudgement(self.machine, self.facts, loop, began if it.listed else None)
        growing = [judged.growing(path) for path in it.paths]
        culprits: dict[Root, bool] = {}
        for found in growing:
            for place, one in found.items():
                if one.certain or (not it.bounded and all(place in other for other in growing)):
                    self._enter(one, culprits)
        # What this loop has entered counts for the loops around it.
        for root, certain in culprits.items():
            self.facts.culprits[root] = certain or self.facts.culprits.get(root, False)

    def _enter(self, one: Growing, culprits: dict[Root, bool]) -> None:
        """Enter one finding for one defect: what gathers the roots of another culprit is none.

        But a list that is emptied after its backward is none itself, while a sum of what a backward ran through is.
        """
        known = self.facts.culprits
        if any(known[root] or not one.certain for root in one.within if root in known):
            return
        culprits.update((root, one.certain or culprits.get(root, False)) for root in one.within)
        found = self.facts.waiting.setdefault(one.fault.node, [])
        if one.certain and not any(other.certain for other in found):
            self.report(one.fault)
        self.machine.graphs_in_question = True
        found.append(one)

    def on_called_again(self, state: State, it: announcement.CalledAgain) -> None:
        """Report attributes that hang on what the call before has left in them, if they do so in any case."""
        found: dict[cst.CSTNode, StateNotDetached] = {}
        for first, ends in it.ends:
            former = _attribute_graphs(first, state)
            for end in ends:
                fault = _carried_over(former, _attribute_graphs(end, state))
                if fault is None:
                    return
                found.setdefault(fault.node, fault)
        for fault in found.values():
            self.report(fault)

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report the places whose graphs no backward runs through."""
        if not it.complete or not self.facts.waiting:
            return
        use = self.other(GraphUseDetector)
        used = use.joined(use.facts.traversed | use.escaped())
        for found in self.facts.waiting.values():
            if not any(one.certain for one in found) and all(self._is_unused(one, used) for one in found):
                self.report(found[0].fault)

    def _is_unused(self, one: Growing, used: set[int]) -> bool:
        """Return whether a graph is certainly never traversed, though its network is trained or evaluated here."""
        nodes = [root for root in one.within if isinstance(root, Node)]
        if any(node.id in used for node in nodes):
            return False
        trained = self.other(LostGradientDetector).facts.trained | self.facts.evaluated
        return any(leaf.syntax in trained for leaf in leaves(nodes))


def _may_hold(value: Value) -> bool:
    """Return whether a value, or one in a tuple of such, may have a graph."""
    return all(map(_may_hold, value)) if type(value) is tuple else isinstance(value, (Ref, Unknown, int, str, float))


def _attribute_graphs(state: State, before: State) -> dict[Place, Node]:
    """Return the graphs in attributes that a call has changed."""
    found: dict[Place, Node] = {}
    for place, held in held_by(state, before).items():
        root = held[0].root
        if place[0] == "attr" and isinstance(root, Node) and root.tracked:
            found[place] = root
    return found


def _carried_over(former: dict[Place, Node], now: dict[Place, Node]) -> StateNotDetached | None:
    """Return the fault where what an attribute holds was computed from what it held after the call before."""
    for place, root in now.items():
        kept = former.get(place)
        if kept is not None and kept is not root and reaches((root,), kept):
            return StateNotDetached(root.syntax, kept.syntax)
    return None


class _LoopJudgement:
    """Judges one loop at its end.

    `around`: when the iteration around the loop began, or else the call, if the loop goes over what the program lists:
    a list that was made since then does not grow.
    """

    def __init__(self, machine: Machine, facts: Growth, loop: Loop, around: int | None) -> None:
        self.machine = machine
        self.facts = facts
        self.loop = loop
        self.around = around

    def growing(self, state: State) -> dict[Place, Growing]:
        """Return the places that have grown on one path."""
        found: dict[Place, Growing] = {}
        for place, held in held_by(state, self.loop.before).items():
            one = self._grown(state, place, held)
            if one is not None and not self._is_replaced(state, place) and not self._is_made_anew(place):
                found[place] = one
        return found

    def _is_made_anew(self, place: Place) -> bool:
        """Return whether a container is younger than the iteration around."""
        return self.around is not None and place[0] == "items" and isinstance(place[1], int) and place[1] > self.around

    def _is_replaced(self, state: State, place: Place) -> bool:
        """Return whether a name has lost a container that it had before the loop: what that holds is gone."""
        address = place[1]
        if place[0] == "name" or not isinstance(address, int):
            return False
        return is_alive(self.loop.before, address) and not is_alive(state, address)

    def _grown(self, state: State, place: Place, held: tuple[Held, ...]) -> Growing | None:
        former = {root: None for root in self.loop.held[-2].get(place, ()) if self._made_here(root)}
        if not former:
            return None
        if place[0] == "items":
            return self._longer(state, place, held, former)
        for one in held:
            parts = self._parts_of(state, one.root)
            kept = [root for root in former if root is not one.root and root in parts.all]
            if kept:
                return self._gathered(state, one.root, kept[0], parts)
            again = next((root for root in former if root is not one.root and reaches((one.root,), root)), None)
            if again is not None:
                return self._carried(state, one.root, again)
        return None

    def _parts_of(self, state: State, root: Root) -> Parts:
        """Return what a root gathers, which counts as work: there may be many places, paths and loops."""
        parts = parts_of(state, root)
        self.machine.work(len(parts.all) // NODES_PER_STEP)
        return parts

    def _longer(self, state: State, place: Place, held: tuple[Held, ...], former: dict[Root, None]) -> Growing | None:
        holder = state.heap.get(place[1]) if isinstance(place[1], int) else None
        if isinstance(holder, Mapping) and holder.open:
            return None  # Keys that are not known may come again, and give their values up.
        kept = [one for one in held if one.root in former]
        new = [one for one in held if one.root not in former and self._made_here(one.root)]
        if not kept or not new:
            return None
        last, value = new[-1].root, new[-1].value
        stored = self.facts.stored.get((place[1], value)) if _may_hold(value) else None
        syntax = stored or last.syntax
        is_tensor = isinstance(value, Ref) and isinstance(state.heap.get(value.id), Tensor)
        return self._gathered(state, last, kept[-1].root, self._parts_of(state, last), syntax, nested=not is_tensor)

    def _gathered(
        self,
        state: State,
        root: Root,
        kept: Root,
        parts: Parts,
        given: cst.CSTNode | None = None,
        *,
        nested: bool = False,
    ) -> Growing | None:
        """Return what becomes of a place that gathers: spent, if the former root was backpropagated already."""
        inner = self._parts_of(state, kept)
        spent = self._is_spent(state, inner.all)
        if spent is None or self._is_spent(state, parts.all) is None:
            return None
        if given is None and reaches(parts.ends, kept):
            return None  # A state that each iteration computes from the last: not gathered, but carried on.
        live = all(isinstance(one, Node) and one.tracked is True for one in (root, kept))
        syntax = given or root.syntax
        if syntax is None or not (spent or (live and self._uses_leaf(root))):
            return None
        own = (one for one in parts.ends if one not in inner.all)
        term = next((one.syntax for one in own if one.syntax is not None), None)
        listed, within = given is not None, (root, kept, *parts.all)
        if spent or self.facts.backwards > self.loop.backwards:
            return Growing(GraphAccumulates(syntax, term, spent, listed, nested), within, spent)
        return Growing(EvalKeepsGraph(syntax, term, listed, nested), within, False)

    def _uses_leaf(self, root: Root) -> bool:
        """Return whether something in the loop was computed from a leaf itself, as a network computes from its
        parameters.

        What only goes on with a result from before the loop adds little to the graph that is there already.
        """
        roots = [root] if isinstance(root, Node) else []
        return any(leaves(roots, back_to(self.loop.marks[0])))

    def _is_spent(self, state: State, roots: Iterable[Root]) -> bool | None:
        """Return whether a backward of this loop has run through the graph and freed it, so that another would raise.

        None where one has raised on it already: that is another finding.
        """
        spent = False
        nodes = [root for root in roots if isinstance(root, Node)]
        for node in reachable(nodes, back_to(self.loop.marks[0], certain_inputs)):
            if node.id <= self.loop.marks[0]:
                continue
            if state.freed.get(node.id, node) is None:
                return None
            spent = spent or node.id in state.spent or node.id in state.freed
        return spent

    def _carried(self, state: State, root: Root, kept: Root) -> Growing | None:
        """Return a state carried over with its graph, through which each backward runs down to the first."""
        assert isinstance(root, Node) and isinstance(kept, Node)
        if kept.id not in state.twice or self.facts.steps == self.loop.steps:
            return None
        if state.freed.get(root.id, root) is None or state.freed.get(kept.id, kept) is None:
            return None
        return Growing(StateNotDetached(root.syntax, kept.syntax), (root, kept), True)

    def _made_here(self, root: Root) -> bool:
        """Return whether a root was made in the loop; a symbol that was there before is of no interest."""
        return not isinstance(root, Node) or root.id > self.loop.marks[0]


_GATHERING = ACCUMULATES | ARITHMETIC | {"index assignment"}
"""Operations that put results together without computing a further step from them."""

MOST = 400
"""How many parts of one root are looked at."""


NODES_PER_STEP = 20
"""So many of them cost about as much as a step of the interpreter."""


class Parts(NamedTuple):
    """What a root gathers: all the roots on the way, and those at the end of it, which are no sums themselves.

    The ends are in the order in which they are found: the order of a set would differ from run to run.
    """

    all: frozenset[Root]
    ends: tuple[Root, ...]


def parts_of(state: State, root: Root) -> Parts:
    """Follow a root back through sums, lists and their like."""
    every = list(reachable([root], lambda one: _terms(state, one), MOST))
    return Parts(frozenset(every), tuple(one for one in every if not _is_sum(one)))


def _is_sum(root: Root) -> bool:
    """Return whether a root puts others together; what multiplies two that have graphs computes a further step."""
    if isinstance(root, Node):
        name = canonical(root.op)
        with_graphs = [edge for edge in root.edges if edge.flows is True]
        return name in _GATHERING and (name not in SCALES or len(with_graphs) < 2)
    return root.key is not None and root.key[0] in ARITHMETIC


def _terms(state: State, root: Root) -> list[Root]:
    """Return the roots that a sum is made of."""
    if not _is_sum(root):
        return []
    if isinstance(root, Node):
        flowing = sloped_inputs(root)
        return [node for node in flowing if node.tracked is not False]
    assert root.key is not None
    symbols = [root_of(state, part) for part in root.key[1:] if isinstance(part, (Ref, Unknown))]
    return [part for part in symbols if part is not None]


def reaches(starts: Iterable[Root], target: Root) -> bool:
    """Return whether a gradient from one of the starts may flow to the target."""
    if not isinstance(target, Node):
        return False
    return walk.is_reachable(target, (start for start in starts if isinstance(start, Node)))
