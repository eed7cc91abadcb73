"""The terms of a loss that are constants to autograd, though they were computed from leaves."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.detect.cuts import ACCIDENTS, Lost, lost_leaves, receiving_leaves
from gradlint.domain.graph import Node
from gradlint.domain.walk import inputs, reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import MEANS, RESHAPES, SCALES, SUMS
from gradlint.interpreter.torch.backward import walk

_LINEAR = SUMS | MEANS | RESHAPES


def dead_terms(root: Node) -> Iterator[Lost]:
    """Yield the terms of a sum that were computed from leaves and pass no gradient to any: each a constant to autograd.

    Beside a term that was detached on purpose nothing is said: `hard - soft.detach() + soft` is the straight-through
    trick.
    """
    terms = _terms(root)
    dead = [term for term in terms if not _passes(term)]
    if len(dead) == len(terms):
        return  # The leaves before them are lost altogether.
    lost = _without_copied([one for term in dead for one in lost_leaves(term, set())])
    if not any(one.intended and not _is_bare_data(one) for one in lost):
        yield from (one for one in lost if one.releafed is None and (one.cut.kind in ACCIDENTS or _is_bare_data(one)))


def _is_bare_data(one: Lost) -> bool:
    """Return whether a leaf's own `.data` stands in the loss: nothing is computed from the leaf that could be kept
    from it.
    """
    return one.cut.kind == "data" and one.direct and one.cuts == 1


def _without_copied(lost: list[Lost]) -> list[Lost]:
    """Leaves that are no copies of others among them: what a network was copied from is none of the loss's."""
    sources = {edge.node.id for one in lost for edge in one.leaf.edges if edge.cut == "copy"}
    return [one for one in lost if one.leaf.id not in sources]


def _terms(root: Node) -> list[Node]:
    """Return what a loss is the sum of, without signs and constant factors."""
    found = reachable([root], lambda node: inputs(node) if _is_sum(node) else ())
    return [node for node in found if node.live and not _is_sum(node)]


def _is_sum(node: Node) -> bool:
    """Return whether a node is a sum, or something with a sign or a constant factor before it."""
    name = canonical(node.op)
    return node.leaf is None and (name in _LINEAR or (name in SCALES and len(node.edges) == 1))


def _passes(term: Node) -> bool:
    """Return whether a gradient other than zero may get through a term to anything."""
    if term.tracked is False and term.leaf is None:
        return False
    nodes = walk([term]).possible
    return bool(receiving_leaves(nodes)) or any(map(_may_pass, nodes.values()))


def _may_pass(node: Node) -> bool:
    """Return whether a node that is not known may have a graph. Data that comes from elsewhere has none."""
    if node.tracked is not None or (node.edges and node.op != "call"):
        return False
    return node.op != "input" or isinstance(node.place, (cst.Param, cst.Call))
