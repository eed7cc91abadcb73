"""Formulas that are computed twice: the same operations on the same values, so that the results are equal."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.detect.formula.terms import LONGEST
from gradlint.domain.graph import Edge, Node, Term
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import STEADY


def is_alike(one: Node, other: Node, unwritten: Callable[[Node], bool], depth: int = LONGEST) -> bool:
    """Return whether two results are certainly equal. `unwritten`: nothing has been written to a leaf.

    Data that no graph is recorded of may have changed in between: both operations must have saved them, at the same
    version.
    """
    if one is other:
        return one.leaf is None or unwritten(one)
    if (
        depth == 0
        or canonical(one.op) not in STEADY
        or canonical(one.op) != canonical(other.op)
        or len(one.edges) != len(other.edges)
    ):
        return False
    if _settings(one) != _settings(other):
        return False
    kept = _kept(one) & _kept(other)
    return all(
        _is_same_input(left, right, bool(kept), unwritten, depth)
        for left, right in zip(one.edges, other.edges, strict=True)
    )


def _is_same_input(left: Edge, right: Edge, kept: bool, unwritten: Callable[[Node], bool], depth: int) -> bool:
    is_data = left.node.leaf is None and left.node.tracked is not True
    return (kept or not is_data) and is_alike(left.node, right.node, unwritten, depth - 1)


def _settings(node: Node) -> dict[str, object]:
    """Return the operands that are no tensors; those that are stand among the edges."""
    return {name: value for name, value in node.operands.items() if not isinstance(value, Term)}


def _kept(node: Node) -> set[tuple[int, int, int, int]]:
    return {(one.counter, one.version, one.memory, one.hidden) for one in node.saved}
