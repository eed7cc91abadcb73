"""Gradients of gradients: where one that was made without a graph stands in a loss as a mere constant."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.walk import certain_inputs, inputs, reachable
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults

_SUMS = frozenset({"add", "sub", "add_", "sub_", "neg"})
"""Sums of losses. Behind a reduction it may be a tensor that a gradient moves: first-order steps are no penalties."""

_SCALES = frozenset({"mul", "div", "true_divide", "mul_", "div_"})
_WISHES = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts behind which a constant is wanted, or which another rule tells of."""


def note_constant_gradients(machine: Machine, root: Node, backward: cst.CSTNode) -> None:
    """A loss is a sum, and one of its terms is a constant computed from a gradient: the term trains nothing."""
    if not machine.ledger.gradients:
        return
    for term in _constant_terms(root):
        gradient = _gradient_behind(term, machine.ledger.gradients)
        if gradient is not None:
            related = [(term.syntax, "this term of the loss is a constant"), (backward, "the backward of the loss")]
            faults.noticed(machine, "grad-without-create-graph", gradient.syntax, related=related)


def note_gradient_root(machine: Machine, root: Node, backward: cst.CSTNode) -> bool:
    """A root is made of such gradients and of nothing else that requires grad: torch raises."""
    gradient = _gradient_behind(root, machine.ledger.gradients) if machine.ledger.gradients else None
    if gradient is None:
        return False
    faults.refused(machine, "grad-without-create-graph", gradient.syntax, related=[(backward, "torch raises here")])
    return True


def _constant_terms(root: Node) -> list[Node]:
    """The untracked terms of a sum."""
    edges = (edge for node in reachable([root], _certain_terms) if _is_sum(node) for edge in node.edges)
    constant = (edge for edge in edges if edge.flows is False and edge.cut not in _WISHES)
    return [edge.node for edge in constant if edge.node.tracked is False]


def _certain_terms(node: Node) -> list[Node]:
    return certain_inputs(node) if _is_sum(node) else []


def _is_sum(node: Node) -> bool:
    name = node.op.removeprefix("Tensor.")
    return node.tracked is True and (name in _SUMS or (name in _SCALES and len(node.edges) == 1))


def _gradient_behind(term: Node, gradients: set[int]) -> Node | None:
    """The youngest gradient without a graph that a constant is computed from, unless the program cut it itself.

    An older one may have been meant as a constant: the vector of a Hessian-vector product.
    """

    def constant_inputs(node: Node) -> list[Node]:
        ends = node.id in gradients or node.tracked is not False or node.cut in _WISHES
        return [] if ends else inputs(node)

    found = (node for node in reachable([term], constant_inputs) if node.id in gradients)
    return max(found, key=lambda node: node.id, default=None)
