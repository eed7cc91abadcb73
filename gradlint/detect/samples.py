"""Samples that a gradient should flow through: `sample()` between two parts of one loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradlint.domain.graph import Node
from gradlint.domain.walk import inputs, leaves, reachable


def cutting_samples(walked: Mapping[int, Node], receiving: set[int]) -> list[Node]:
    """Return the samples that a loss was computed from, while it trains their distribution by another way only.

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
    return [one for one in used if one.syntax not in scored and _trained_by(one) & receiving]


def _trained_by(sample: Node) -> set[int | None]:
    """Return the leaves that a gradient would flow to through a sample."""
    return {leaf.leaf for leaf in leaves(inputs(sample))}


def _samples(starts: Iterable[Node]) -> list[Node]:
    """Return the samples behind values on no tape, met on ways that only `sample` cuts."""
    found = reachable(filter(_is_off_tape, starts), _inputs_off_tape)
    return [node for node in found if node.op == "sample" and node.cut == "sample"]


def _is_off_tape(node: Node) -> bool:
    return node.tracked is False and node.live


def _inputs_off_tape(node: Node) -> list[Node]:
    return [edge.node for edge in node.edges if node.cut is edge.cut is None and _is_off_tape(edge.node)]
