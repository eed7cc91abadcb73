"""Gradients of gradients: where one that was made without a graph stands in a loss as a mere constant."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.cuts import EXPLICIT_CUTS
from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Backpropagated, ConstantGradient
from gradlint.domain.fault.backward import GradientWithoutGraph
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.walk import certain_inputs, inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import SCALES, SUMS


class SecondOrderDetector(Detector[set[int]]):
    """Knows the numbers of the gradients that were computed without a graph."""

    def on_constant_gradient(self, state: State, it: ConstantGradient) -> None:
        """Note a gradient without a graph."""
        self.facts.add(it.gradient.id)

    def on_backpropagated(self, state: State, it: Backpropagated) -> None:
        """Report a term of a loss that is a constant computed from a gradient: the term trains nothing."""
        for term in [term for root in it.roots for term in _constant_terms(root)] if self.facts else ():
            gradient = _gradient_behind(term, self.facts)
            if gradient is not None:
                self.report(GradientWithoutGraph(gradient.syntax, backward=it.node, term=term.syntax))

    def explains(self, root: Node, backward: cst.CSTNode) -> bool:
        """Report that a root is made of such gradients and of nothing else that requires grad; False if it is not."""
        gradient = _gradient_behind(root, self.facts) if self.facts else None
        if gradient is not None:
            self.report(GradientWithoutGraph(gradient.syntax, backward))
        return gradient is not None


def _constant_terms(root: Node) -> list[Node]:
    """Return the untracked terms of a sum."""
    edges = (edge for node in reachable([root], _certain_terms) if _is_sum(node) for edge in node.edges)
    constant = (edge for edge in edges if edge.flows is False and edge.cut not in EXPLICIT_CUTS)
    return [edge.node for edge in constant if edge.node.tracked is False]


def _certain_terms(node: Node) -> list[Node]:
    return certain_inputs(node) if _is_sum(node) else []


def _is_sum(node: Node) -> bool:
    """Return whether a node sums up losses.

    Behind a reduction it may be a tensor that a gradient moves: first-order steps are no penalties.
    """
    name = canonical(node.op)
    return node.tracked is True and (name in SUMS or (name in SCALES and len(node.edges) == 1))


def _gradient_behind(term: Node, gradients: set[int]) -> Node | None:
    """Return the youngest gradient without a graph that a constant is computed from, unless the program cut it itself.

    An older one may have been meant as a constant: the vector of a Hessian-vector product.
    """

    def constant_inputs(node: Node) -> list[Node]:
        ends = node.id in gradients or node.tracked is not False or node.cut in EXPLICIT_CUTS
        return [] if ends else inputs(node)

    found = (node for node in reachable([term], constant_inputs) if node.id in gradients)
    return max(found, key=lambda node: node.id, default=None)
