"""Graphs that are kept for a backward which never comes: retained, or recorded with the gradients."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain import announcement
from gradlint.domain.fault.backward import GradientCycle, GraphRetained
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor
from gradlint.domain.walk import gradient_inputs, reachable
from gradlint.interpreter.torch.backward import CYCLE


@dataclass
class GraphUse:
    """What becomes of graphs, on any path.

    `traversed` are the nodes that some backward may have run through, `shared` those that it may run through where
    gradlint does not look. `alike` are nodes made alike on two paths, which were joined: the first has gone on for
    both. `retaining`: the backwards in loops that retain the graph, and what they retained; `useful` those whose graph
    was traversed again, or may be. `cycles`: the backwards that made leaf and gradient keep each other, and whether a
    gradient was dropped later; `recorded` the nodes of those gradients.
    """

    traversed: set[int] = field(default_factory=set)
    shared: dict[int, Node] = field(default_factory=dict)
    alike: list[tuple[int, int]] = field(default_factory=list)
    retaining: dict[cst.CSTNode, set[int]] = field(default_factory=dict)
    useful: set[cst.CSTNode] = field(default_factory=set)
    cycles: dict[cst.CSTNode, bool] = field(default_factory=dict)
    recorded: dict[cst.CSTNode, set[int]] = field(default_factory=dict)


class GraphUseDetector(Detector[GraphUse]):
    """Notes which graphs are traversed, or may be, and reports those that are kept for nothing."""

    # What is done.

    def on_backpropagated(self, state: State, it: announcement.Backpropagated) -> None:
        """Note the graph as traversed; and as retained, if the backward is to retain it in a loop."""
        self._traverse(it.possible.keys())
        if it.retain and it.create is False and not it.raised and self.machine.iterations:
            self.machine.graphs_in_question = True
            retained = self.facts.retaining.setdefault(it.node, set())
            retained.update(node.id for node in it.possible.values() if state.frees(node))
            if any(node.tracked is None for node in it.possible.values()):
                self.facts.useful.add(it.node)

    def on_differentiated(self, state: State, it: announcement.Differentiated) -> None:
        """Note the graph as traversed."""
        self._traverse(it.possible.keys())

    def _traverse(self, numbers: Set[int]) -> None:
        self.facts.traversed |= numbers
        for syntax, retained in self.facts.retaining.items():
            if syntax not in self.facts.useful and not retained.isdisjoint(numbers):
                self.facts.useful.add(syntax)

    def on_graphs_shared(self, state: State, it: announcement.GraphsShared) -> None:
        """Note graphs that may be traversed elsewhere."""
        self.facts.shared.update((node.id, node) for node in it.graphs if node.tracked is not False)

    def on_paths_joined(self, state: State, it: announcement.PathsJoined) -> None:
        """Note the nodes that have gone on for those of another path."""
        self.facts.alike.extend(it.alike)

    def on_gradient_recorded(self, state: State, it: announcement.GradientRecorded) -> None:
        """Note a gradient that keeps its leaf alive, and the leaf the gradient."""
        self.facts.recorded.setdefault(it.node, set()).add(it.gradient.id)
        if it.certain:
            self.machine.graphs_in_question = True
            self.facts.cycles.setdefault(it.node, False)

    def on_gradient_released(self, state: State, it: announcement.GradientReleased) -> None:
        """Note that a gradient was dropped from its leaf, which opens the circle."""
        record = state.heap.get(it.gradient.id) if isinstance(it.gradient, Ref) else None
        if isinstance(record, Tensor) and CYCLE in record.tags and record.syntax is not None:
            self.facts.cycles[record.syntax] = True

    # What is left undone.

    def on_run_ended(self, state: State, it: announcement.RunEnded) -> None:
        """Report what is kept and never used, now that all paths are known."""
        facts = self.facts
        for syntax, opened in facts.cycles.items():
            if not opened:
                nodes = facts.recorded.get(syntax, set())
                used = not it.complete or bool(facts.shared) or not nodes.isdisjoint(facts.traversed)
                self.report(GradientCycle(syntax, used))
        away = self.joined(self.escaped()) if facts.retaining and it.complete else set()
        for syntax, retained in facts.retaining.items():
            if it.complete and syntax not in facts.useful and retained and away.isdisjoint(retained):
                self.report(GraphRetained(syntax))

    def escaped(self) -> set[int]:
        """Return all nodes that may be traversed where gradlint does not look."""
        return {node.id for node in reachable(self.facts.shared.values(), gradient_inputs)}

    def joined(self, nodes: Set[int]) -> set[int]:
        """Return the nodes, and those made alike on another path that has been joined."""
        found = set(nodes)
        for first, other in reversed(self.facts.alike):
            if first in found:
                found.add(other)
        return found
