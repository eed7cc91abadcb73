"""Gradients of gradients: where one that was made without a graph stands in a loss as a mere constant."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Backpropagated, ConstantGradient
from gradlint.domain.fault.backward import GradientWithoutGraph
from gradlint.domain.graph import Node
from gradlint.domain.state import State

_SUMS = frozenset({"add", "sub", "add_", "sub_", "neg"})
"""Sums of losses. Behind a reduction it may be a tensor that a gradient moves: first-order steps are no penalties."""

_SCALES = frozenset({"mul", "div", "true_divide", "mul_", "div_"})
_WISHES = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts behind which a constant is wanted, or which another rule tells of."""


class SecondOrderDetector(Detector[set[int]]):
    """Knows the numbers of the gradients that were computed without a graph."""

    def begin(self) -> set[int]:
        """Begin without any gradient."""
        return set()

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
    """The untracked terms of a sum."""
    terms: list[Node] = []
    seen: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node.id in seen or node.tracked is not True:
            continue
        seen.add(node.id)
        name = node.op.removeprefix("Tensor.")
        if name not in _SUMS and not (name in _SCALES and len(node.edges) == 1):
            continue
        for edge in node.edges:
            if edge.flows is True:
                stack.append(edge.node)
            elif edge.flows is False and edge.node.tracked is False and edge.cut not in _WISHES:
                terms.append(edge.node)
    return terms


def _gradient_behind(term: Node, gradients: set[int]) -> Node | None:
    """The youngest gradient without a graph that a constant is computed from, unless the program cut it itself.

    An older one may have been meant as a constant: the vector of a Hessian-vector product.
    """
    seen: set[int] = set()
    stack = [term]
    found: Node | None = None
    while stack:
        node = stack.pop()
        if node.id in gradients:
            found = node if found is None or node.id > found.id else found
            continue
        if node.id in seen or node.tracked is not False or node.cut in _WISHES:
            continue
        seen.add(node.id)
        stack.extend(edge.node for edge in node.edges)
    return found
