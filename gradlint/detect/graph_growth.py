"""What one turn of a loop leaves behind: places that hold the graphs of every turn so far.

A place grows if at the end of the last turn it holds what it held at the end of the turn before, and more. That a
graph is held in vain is certain where a backward has run through it and freed it; or where none ever does, which shows
only at the end of the program.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from gradlint.detect.ledger import Ledger, Waiting, is_certain
from gradlint.domain.event import KeptGraph
from gradlint.domain.graph import Node, fresh_number
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.interpreter.reachable import Held, Parts, Place, Root, held_by, is_held, parts_of, reaches


class Turns:
    """One run of a loop, turn by turn."""

    def __init__(self, ledger: Ledger, before: State) -> None:
        self.ledger = ledger
        self.before = before
        self.marks: list[int] = []
        # The roots are keys: a dict keeps their order, and findings name the first of them.
        self.held: list[dict[Place, dict[Root, None]]] = []
        self.backwards = ledger.backwards
        self.steps = ledger.steps

    def begin(self) -> None:
        """A turn begins: what is made from now on is younger than the mark."""
        self.marks.append(fresh_number())
        self.ledger.turns.append(self.marks[-1])
        self.ledger.depth += 1

    def end(self, states: Iterable[State]) -> None:
        """A turn is over: remember what places hold, on any path."""
        self.ledger.depth -= 1
        self.ledger.turns.pop()
        union: dict[Place, dict[Root, None]] = {}
        for state in states:
            for place, held in held_by(state, self.before).items():
                union.setdefault(place, {}).update((one.root, None) for one in held)
        self.held.append(union)

    def judge(self, states: list[State], *, bounded: bool, listed: bool = False) -> None:
        """The last turn is over: enter the places that grow; what is never walked only where data bounds the loop.

        `listed`: the program lists what the loop goes over, so that a list which the loop around it makes anew in each
        turn does not grow.
        """
        if len(self.held) < 2 or not any(self.held):
            return
        growing: list[dict[Place, Waiting]] = []
        for state in states:
            found = held_by(state, self.before)
            growing.append(
                {
                    place: one
                    for place, held in found.items()
                    if (one := self._grown(state, place, held))
                    and not self._replaced(state, place)
                    and not (listed and self._made_anew(place))
                }
            )
        for found_here in growing:
            for place, one in found_here.items():
                if is_certain(one) or (not bounded and all(place in other for other in growing)):
                    self._enter(one)
        self.ledger.settle()

    def _made_anew(self, place: Place) -> bool:
        """Whether a container is younger than the turn of the loop around this one."""
        around = self.ledger.turns
        return bool(around) and place[0] == "items" and isinstance(place[1], int) and place[1] > around[-1]

    def _replaced(self, state: State, place: Place) -> bool:
        """Whether a name has lost a container that it had before the loop: what that holds is gone."""
        address = place[1]
        if place[0] == "name" or not isinstance(address, int):
            return False
        return is_held(self.before, address) and not is_held(state, address)

    def _enter(self, one: Waiting) -> None:
        """One finding for one defect: what gathers the roots of another culprit is none.

        But a list that is emptied after its backward is none itself, while a sum of what was walked is.
        """
        certain = is_certain(one)
        known = self.ledger.culprits
        if not any(known[root] or not certain for root in one.within if root in known):
            self.ledger.waiting.setdefault(one.event.node, []).append(one)
            new = self.ledger.new_culprits
            new.update((root, certain or new.get(root, False)) for root in one.within)

    def _grown(self, state: State, place: Place, held: tuple[Held, ...]) -> Waiting | None:
        former = {root: None for root in self.held[-2].get(place, ()) if self._made_here(root)}
        if not former:
            return None
        if place[0] == "items":
            return self._longer(state, place, held, former)
        for one in held:
            parts = parts_of(state, one.root)
            kept = [root for root in former if root is not one.root and root in parts.all]
            if kept:
                return self._entry(state, one.root, kept[0], parts)
            again = next((root for root in former if root is not one.root and reaches((one.root,), root)), None)
            if again is not None:
                return self._carried(state, one.root, again)
        return None

    def _longer(self, state: State, place: Place, held: tuple[Held, ...], former: dict[Root, None]) -> Waiting | None:
        kept = [one for one in held if one.root in former]
        new = [one for one in held if one.root not in former and self._made_here(one.root)]
        if not kept or not new:
            return None
        syntax = self.ledger.stored.get((place[1], new[-1].value)) or new[-1].root.syntax
        entry = self._entry(state, new[-1].root, kept[-1].root, parts_of(state, new[-1].root), syntax)
        value = new[-1].value
        is_tensor = isinstance(value, Ref) and isinstance(state.heap.get(value.id), Tensor)
        return entry if entry is None or is_tensor else entry._replace(event=replace(entry.event, nested=True))

    def _entry(
        self, state: State, root: Root, kept: Root, parts: Parts, stored: cst.CSTNode | None = None
    ) -> Waiting | None:
        """What becomes of a place that gathers: spent, if the former root was backpropagated already."""
        inner = parts_of(state, kept)
        spent = self._spent(state, inner.all)
        if spent is None or self._spent(state, parts.all) is None:
            return None
        if stored is None and reaches(parts.ends, kept):
            return None  # A state that each turn computes from the last: not gathered, but carried on.
        live = all(isinstance(one, Node) and one.tracked is True for one in (root, kept))
        syntax = stored or root.syntax
        if syntax is None or not (spent or (live and self._uses_leaf(root))):
            return None
        own = (one for one in parts.ends if one not in inner.all)
        term = next((one.syntax for one in own if one.syntax is not None), None)
        event = KeptGraph(
            syntax, term, spent=spent, trained=self.ledger.backwards > self.backwards, listed=stored is not None
        )
        return Waiting(event, (root, kept, *parts.all))

    def _uses_leaf(self, root: Root) -> bool:
        """Whether something in the loop was computed from a leaf itself, as a network computes from its parameters.

        What only goes on with a result from before the loop adds little to the graph that is there already.
        """
        seen: set[int] = set()
        stack = [root] if isinstance(root, Node) else []
        while stack:
            node = stack.pop()
            if node.leaf is not None:
                return True
            if node.id not in seen and node.id > self.marks[0]:
                seen.add(node.id)
                stack.extend(edge.node for edge in node.edges if edge.flows is not False)
        return False

    def _spent(self, state: State, roots: Iterable[Root]) -> bool | None:
        """Whether a backward of this loop has run through the graph and freed it, so that another would raise.

        None where one has raised on it already: that is another finding.
        """
        spent = False
        seen: set[int] = set()
        stack = [root for root in roots if isinstance(root, Node)]
        while stack:
            node = stack.pop()
            if node.id in seen or node.id <= self.marks[0]:
                continue
            seen.add(node.id)
            if state.freed.get(node.id, node) is None:
                return None
            spent = spent or node.id in state.spent or node.id in state.freed
            stack.extend(edge.node for edge in node.edges if edge.flows is True)
        return spent

    def _carried(self, state: State, root: Root, kept: Root) -> Waiting | None:
        """A state carried over with its graph, which the backward of each turn walks down to the first."""
        assert isinstance(root, Node) and isinstance(kept, Node)
        if kept.id not in state.twice or self.ledger.steps == self.steps:
            return None
        if state.freed.get(root.id, root) is None or state.freed.get(kept.id, kept) is None:
            return None
        event = KeptGraph(root.syntax, kept.syntax, spent=False, trained=True, listed=False, rewalked=True)
        return Waiting(event, (root, kept))

    def _made_here(self, root: Root) -> bool:
        """Whether a root was made in the loop; a symbol that was there before is of no interest."""
        return not isinstance(root, Node) or root.id > self.marks[0]
