"""Samples that a gradient should flow through: `sample()` between two parts of one loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradlint.domain.graph import Node


def cutting_samples(walked: Mapping[int, Node], receiving: set[int]) -> list[Node]:
    """The samples that a loss was computed from, while it trains their distribution by another way only.

    So it is with the latent code of a variational autoencoder, whose distribution the divergence trains. Where the
    `log_prob` of the sample is in the loss, or that of one drawn there in another turn, the score function is meant;
    where the loss trains nothing of the distribution, another one may.
    """
    nodes = list(walked.values())
    scored = {one.syntax for node in nodes if node.op == "log_prob" for one in _samples(e.node for e in node.edges)}
    used = _samples(
        edge.node
        for node in nodes
        if node.tracked is True and node.op != "log_prob"
        for edge in node.edges
        if edge.flows is False and edge.cut is None
    )
    return [one for one in used if one.syntax not in scored and _leaves(one) & receiving]


def _samples(starts: Iterable[Node]) -> list[Node]:
    """The samples behind values on no tape, met on ways that only `sample` cuts."""
    found: list[Node] = []
    stack, seen = list(starts), set[int]()
    while stack:
        node = stack.pop()
        if node.id in seen or node.tracked is not False or not node.live:
            continue
        seen.add(node.id)
        if node.op == "sample" and node.cut == "sample":
            found.append(node)
        elif node.cut is None:
            stack.extend(edge.node for edge in node.edges if edge.cut is None)
    return found


def _leaves(sample: Node) -> set[int]:
    """The leaves that a gradient would flow to through a sample."""
    leaves: set[int] = set()
    stack, seen = [edge.node for edge in sample.edges], set[int]()
    while stack:
        node = stack.pop()
        if node.id in seen:
            continue
        seen.add(node.id)
        if node.leaf is not None:
            leaves.add(node.leaf)
        stack.extend(edge.node for edge in node.edges if edge.flows is not False)
    return leaves
