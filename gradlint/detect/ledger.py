"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.event import Event, KeptCycle, KeptGraph, Noticed
from gradlint.domain.graph import Node
from gradlint.domain.value import Ref, Unknown, Value


class Waiting(NamedTuple):
    """A place that grows, and the roots within it: no fault if one of them is backpropagated after all."""

    event: KeptGraph
    within: tuple[object, ...]


class Ledger:
    """Entries by the syntax that made them, so that paths and turns meet in them."""

    def __init__(self) -> None:
        self.gradients: set[int] = set()
        """The nodes of gradients that `autograd.grad` made without a graph."""
        self.cycles: dict[cst.CSTNode, bool] = {}
        """The backwards that made leaf and gradient keep each other, and whether a gradient was dropped later."""
        self.second: dict[cst.CSTNode, set[int]] = {}
        """The nodes of the gradients that they made, which have a graph."""
        self.backwards = 0
        self.steps = 0
        self.depth = 0
        """How many loops are being run."""
        self.turns: list[int] = []
        """When the turns of these began."""
        self.walked: set[int] = set()
        """The nodes that some backward may have run."""
        self.trained: set[cst.CSTNode] = set()
        """Where the leaves were made that some backward has reached."""
        self.evaluated: set[cst.CSTNode] = set()
        """Where the leaves were made of networks that were sent to evaluation."""
        self.lent: dict[int, Node] = {}
        """Graphs that went where gradlint does not look: they may be backpropagated there."""
        self.stored: dict[tuple[object, Value], cst.CSTNode] = {}
        """Where a container was given a value."""
        self.met: list[tuple[int, int]] = []
        """Nodes that were made alike on two paths, which met: the first has gone on for both."""
        self.waiting: dict[cst.CSTNode, list[Waiting]] = {}
        """Places that grow, by where, as they were found on each path."""
        self.culprits: dict[object, bool] = {}
        """What the places hold that grow, and whether one of them is at fault for certain, whatever follows."""
        self.new_culprits: dict[object, bool] = {}
        self.retaining: dict[cst.CSTNode, set[int]] = {}
        """The backwards in loops that were asked to retain the graph, and what they retained."""
        self.useful: set[cst.CSTNode] = set()
        """Those whose graph was walked again, or may be."""
        self.incomplete = False
        """Whether a part of the program was not read: then nothing is certain to be left undone."""

    # What is done.

    def walk(self, possible: Iterable[Node]) -> None:
        """A backward runs through nodes."""
        numbers = {node.id for node in possible}
        self.walked |= numbers
        for syntax, retained in self.retaining.items():
            if syntax not in self.useful and not retained.isdisjoint(numbers):
                self.useful.add(syntax)

    def retain(self, syntax: cst.CSTNode, possible: Iterable[Node]) -> None:
        """A backward in a loop was told to retain the graph that it walks."""
        nodes = list(possible)
        retained = self.retaining.setdefault(syntax, set())
        retained.update(node.id for node in nodes if node.frees)
        if any(node.tracked is None for node in nodes):
            self.useful.add(syntax)

    def lend(self, nodes: Iterable[Node]) -> None:
        """Graphs are given to something that is not known."""
        for node in nodes:
            if node.tracked is not False:
                self.lent[node.id] = node

    def store(self, container: Value, value: Value, syntax: cst.CSTNode) -> None:
        """A container is given a value that may have a graph."""
        if isinstance(container, Ref) and _may_hold(value):
            self.stored[container.id, value] = syntax

    def settle(self) -> None:
        """A loop has been judged: what it has entered counts for the loops around it."""
        for root, certain in self.new_culprits.items():
            self.culprits[root] = certain or self.culprits.get(root, False)
        self.new_culprits.clear()

    # What was seen, and what is left undone.

    def kept(self) -> Iterator[Event]:
        """The places that grow and hold what a backward has freed, or walks again in each turn: no other use helps."""
        for found in self.waiting.values():
            event = next((one.event for one in found if is_certain(one)), None)
            if event is not None:
                yield event

    def absences(self) -> Iterator[Event]:
        """What the program left undone."""
        for syntax, opened in self.cycles.items():
            if not opened:
                nodes = self.second.get(syntax, set())
                used = self.incomplete or bool(self.lent) or not nodes.isdisjoint(self.walked)
                yield KeptCycle(syntax, used)
        away = self._away()
        for first, other in reversed(self.met):
            if first in self.walked:
                self.walked.add(other)
            if first in away:
                away.add(other)
        for found in self.waiting.values():
            if not any(map(is_certain, found)) and all(self._forgotten(one, away) for one in found):
                yield found[0].event
        for syntax, retained in self.retaining.items():
            if syntax not in self.useful and retained and away.isdisjoint(retained) and not self.incomplete:
                yield Noticed(syntax, "retain-graph-needless")

    def _forgotten(self, one: Waiting, away: set[int]) -> bool:
        """Whether a graph that is kept is certainly never walked, though its network is trained or evaluated here."""
        nodes = [root for root in one.within if isinstance(root, Node)]
        if self.incomplete or any(node.id in self.walked or node.id in away for node in nodes):
            return False
        return any(leaf.syntax in self.trained or leaf.syntax in self.evaluated for leaf in _leaves(nodes))

    def _away(self) -> set[int]:
        """All nodes that hang on a graph that was lent."""
        if not self.waiting and not self.retaining:
            return set()
        return {node.id for node in _reached(self.lent.values())}


def _may_hold(value: Value) -> bool:
    """Whether a value, or one in a tuple of such, may have a graph."""
    return all(map(_may_hold, value)) if type(value) is tuple else isinstance(value, (Ref, Unknown, int, str, float))


def is_certain(one: Waiting) -> bool:
    """Whether what a place keeps is of no use any more, whatever follows."""
    return one.event.spent or one.event.rewalked


def _reached(roots: Iterable[Node]) -> Iterator[Node]:
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.id not in seen:
            seen.add(node.id)
            yield node
            stack.extend(edge.node for edge in node.edges if edge.flows is not False)


def _leaves(roots: Iterable[Node]) -> Iterator[Node]:
    return (node for node in _reached(roots) if node.leaf is not None)
