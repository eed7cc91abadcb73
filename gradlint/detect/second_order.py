"""Gradients of gradients: where one that was made without a graph stands in a loss as a mere constant."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Node
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
