"""Gradients that a backward computes for another network than those that are trained by it, and that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import Way, label_of
from gradlint.concrete.training import UNUSED
from gradlint.concrete.watcher import Known, Watcher
from gradlint.domain.fault.training_loop import StepMissing

Key = tuple[int, int]


class Wasted(Watcher):
    """Compares what backwards fill with what is cleared before any step has used it."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._used: set[Key] = set()
        self._found: dict[Key, tuple[Seen, list[Leaf]]] = {}
        self._optimized: dict[int, list[Leaf]] = {}

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Note what an optimizer holds, and which of the gradients it uses."""
        self._optimized[id(optimizer)] = leaves
        for leaf in leaves if self.training.dropped else ():
            self._uses(leaf)

    def _uses(self, leaf: Leaf) -> None:
        dropped = None if leaf.filled is None else self.training.dropped.get(leaf.filled.key)
        if dropped is not None and leaf in dropped[2]:
            self._used.add(dropped[0].key)

    def backward_begins(self, call: Call, place: Place) -> None:
        """Note what is added to; look once at the graph of a backward of which something was cleared unused."""
        if not call.fills or not self.training.dropped:
            return
        for one in call.leaves:
            leaf = self.training.leaf(one)
            if leaf.filled is not None and leaf.filled.key != place.key:
                self._uses(leaf)  # What is added to it is used with it.
        if place.key in self.training.dropped and place.key not in self._found:
            self._look(call, place)

    def _look(self, call: Call, place: Place) -> None:
        """Find the part of a graph that leads to all that one optimizer holds of it, and to nothing else."""
        _, clear, dropped = self.training.dropped[place.key]
        by_tensor = {id(one): self.training.leaf(one) for one in call.leaves}
        reached = _reached(call.ways)
        for held in self._optimized.values():
            own = {tensor for tensor, leaf in by_tensor.items() if leaf in held}
            if len(own) < 2 or own == by_tensor.keys() or not all(dropped[by_tensor[one]] > 1 for one in own):
                continue
            ends = (node for node, below in reached.items() if below == own)
            last = max(ends, key=lambda node: node._sequence_nr(), default=None)
            if last is not None:
                label = label_of(last)
                fields = {"cleared": clear, "beyond": None if label is None else label.place}
                self._found[place.key] = Seen(StepMissing, place, fields), [by_tensor[one] for one in own]

    def seen(self) -> Iterator[Seen]:
        """Yield the backwards of which a part is always cleared, of parameters that other backwards train."""
        for key, (seen, leaves) in self._found.items():
            times = self.training.dropped[key][2]
            is_unused = key not in self._used and not self.training.hooked
            if is_unused and all(times[leaf] >= UNUSED and leaf.stepped and not leaf.looked for leaf in leaves):
                yield seen


def _reached(ways: list[Way]) -> dict[Any, frozenset[int]]:
    """Return the leaves, by their ids, to which a gradient goes from each node of an operation."""
    found: dict[Any, frozenset[int]] = {}
    for way in ways:
        stack = [way.node]
        while stack:
            node = stack[-1]
            below = [one for one, _ in node.next_functions if one is not None]
            waiting = [one for one in below if one not in found]
            if node in found or not waiting:
                leaf = getattr(node, "variable", None)
                own = frozenset() if leaf is None else frozenset({id(leaf)})
                found[stack.pop()] = own.union(*(found[one] for one in below))
            else:
                stack += waiting
    return found
