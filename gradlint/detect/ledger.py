"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import libcst as cst

from gradlint.domain.event import Event, KeptCycle, Noticed
from gradlint.domain.graph import Node


class Ledger:
    """Entries by the syntax that made them, so that paths and turns meet in them."""

    def __init__(self) -> None:
        self.gradients: set[int] = set()
        """The nodes of gradients that `autograd.grad` made without a graph."""
        self.cycles: dict[cst.CSTNode, bool] = {}
        """The backwards that made leaf and gradient keep each other, and whether a gradient was dropped later."""
        self.second: dict[cst.CSTNode, set[int]] = {}
        """The nodes of the gradients that they made, which have a graph."""
        self.walked: set[int] = set()
        """The nodes that some backward may have run."""
        self.trained: set[cst.CSTNode] = set()
        """Where the leaves were made that some backward has reached."""
        self.frozen: dict[int, cst.CSTNode] = {}
        """Where leaves that had been trained were frozen last."""
        self.constants: dict[int, tuple[cst.CSTNode, cst.CSTNode | None]] = {}
        """The optimizers whose steps find no tensor that requires grad: where made, and such a step if all do."""
        self.idle: dict[int, tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]] = {}
        """The optimizers all of whose parameters are frozen for good: where it was made, where they
        were frozen, and the first step behind that."""
        self.lent: dict[int, Node] = {}
        """Graphs that went where gradlint does not look: they may be backpropagated there."""
        self.zeroed: defaultdict[int, int] = defaultdict(lambda: -1)
        """In how many loops, at the most, the gradients of an optimizer were cleared."""
        self.late: dict[cst.CSTNode, tuple[int, cst.CSTNode]] = {}
        """Steps that found no gradient, and the backward that filled them behind: for which optimizer."""
        self.busy: set[int] = set()
        """The optimizers of which some step may have found gradients."""
        self.met: list[tuple[int, int]] = []
        """Nodes that were made alike on two paths, which met: the first has gone on for both."""
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

    # What was seen, and what is left undone.

    def absences(self, explained: AbstractSet[cst.CSTNode] = frozenset()) -> Iterator[Event]:
        """What the program left undone. `explained`: optimizers of which is known what they should hold instead."""
        for syntax, opened in self.cycles.items():
            if not opened:
                nodes = self.second.get(syntax, set())
                used = self.incomplete or bool(self.lent) or not nodes.isdisjoint(self.walked)
                yield KeptCycle(syntax, used)
        for step, (optimizer, backward) in self.late.items():
            if optimizer not in self.busy and not self.incomplete:
                told = "this backward fills the gradients, and no step follows"
                yield Noticed(step, "step-before-backward", "last", ((backward, told),))
        for made, switch, idle in self.idle.values():
            if made not in explained:
                yield Noticed(switch, "grad-mode-left-off", "", ((idle, "this step finds no gradient any more"),))
        for made, constant in self.constants.values():
            if constant is not None and not self.incomplete:
                yield Noticed(made, "constants-in-optimizer", "", ((constant, "this step finds no gradient"),))
        away = self.joined(self.escaped()) if self.retaining else set()
        for syntax, retained in self.retaining.items():
            if syntax not in self.useful and retained and away.isdisjoint(retained) and not self.incomplete:
                yield Noticed(syntax, "retain-graph-needless")

    def escaped(self) -> set[int]:
        """All nodes that hang on a graph that was lent."""
        return {node.id for node in _reached(self.lent.values())}

    def joined(self, nodes: AbstractSet[int]) -> set[int]:
        """The nodes, and those that were made alike on another path that has been joined."""
        found = set(nodes)
        for first, other in reversed(self.met):
            if first in found:
                found.add(other)
        return found


def _reached(roots: Iterable[Node]) -> Iterator[Node]:
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.id not in seen:
            seen.add(node.id)
            yield node
            stack.extend(edge.node for edge in node.edges if edge.flows is not False)
