"""Where gradients end: the leaves that a value was computed from, behind a cut of the tape."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import NOT_COMPUTED_FROM, Edge, Node


class Cut(NamedTuple):
    """Where a gradient ends on the way from a root to a leaf: its kind, place, and the operation there."""

    kind: str
    syntax: cst.CSTNode
    op: str


class Lost(NamedTuple):
    """A leaf behind a cut.

    `wished`: the way is cut by something that programs write on purpose, such as `detach`; `picked`: on the way the
    value only chooses which others to use. `reborn`: where a new
    leaf was made of the value, so that a backward has something to run to. `dropped`: torch had recorded a graph
    up to the cut. `cuts`: how many there are on the way. `direct`: the leaf's own value is cut off, nothing computed
    from it.
    """

    leaf: Node
    cut: Cut
    wished: bool
    reborn: Node | None
    dropped: bool
    picked: bool
    cuts: int
    direct: bool


class _Way(NamedTuple):
    """How far a search has come, and what it met."""

    node: Node
    cut: Cut | None = None
    wished: bool = False
    reborn: Node | None = None
    dropped: bool = False
    picked: bool = False
    cuts: int = 0
    direct: bool = False


ACCIDENTS = frozenset({"item", "numpy", "rewrap", "nondiff", "integer", "zero"})
"""Cuts that nobody makes on purpose."""

EXPLICIT_CUTS = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts that the program spells out: behind them a constant is meant, or another rule reports it."""

_WISHES = frozenset({"copy", "detach", "no_grad", "grad-off", "data", "leaf", "parameter", "grad", "gradient"})
_NUMBERS = frozenset({"item", "numpy", "rewrap"})
_UNTOLD = frozenset({"untracked"})

MOST_CUTS = 4_000
"""How many (node, cut) pairs a search for lost leaves looks at."""

MOST_COUNTED = 3
"""How many cuts on one way are told apart."""


def lost_leaves(root: Node, reached: set[int]) -> list[Lost]:
    """Return the leaves that the root's value depends on and no gradient reaches, each with the cut on a way to it.

    Of several cuts on a way it is the one nearest the leaf: up to there a gradient could have flowed. Of several
    ways to a leaf one counts that is cut by no wish, and least often: a reward that an environment gave for a sampled
    action has more behind it than the mistake. Of equals it is the shortest: targets are computed from predictions.
    """
    found: dict[int, Lost] = {}
    stack = deque([_Way(root)])
    seen: set[_Way] = set()
    while stack:
        way = stack.popleft()
        node = way.node
        if way in seen or not node.live or len(seen) > MOST_CUTS:
            continue
        seen.add(way)
        if node.leaf is not None and way.cut is not None and node.leaf not in reached:
            former = found.get(node.leaf)
            if former is None or _excuse(former) > _excuse(way):
                found[node.leaf] = Lost(
                    node, way.cut, way.wished, way.reborn, way.dropped, way.picked, way.cuts, way.direct
                )
        for edge in node.edges:
            if edge.cut not in NOT_COMPUTED_FROM:
                stack.append(_along(way, edge))
    return list(found.values())


def _excuse(one: Lost | _Way) -> tuple[bool, bool, bool, bool, int]:
    """Return how little a way to a leaf tells: of first derivatives, for one, none is expected.

    A sample behind a further cut is an action that the world has answered.
    """
    kind = None if one.cut is None else one.cut.kind
    return one.picked, kind == "sample" and one.cuts > 1, one.wished, kind == "grad", one.cuts


def _along(way: _Way, edge: Edge) -> _Way:
    """Return one step towards the leaves."""
    node = way.node
    if edge.flows is not False and edge.cut != "zero":
        return way._replace(node=edge.node, direct=False)
    own = edge.cut if edge.flows is not False or edge.cut != "zero" else None
    kind = own or node.cut or "untracked"
    nearest = edge.node.tracked is not False or edge.node.leaf is not None
    # The operation has a gradient, only not with regard to this input: an index.
    picks = edge.cut == "nondiff" and node.cut is None
    return _Way(
        edge.node,
        _nearer(way.cut, Cut(kind, node.place or node.syntax, node.op), nearest),
        way.wished or kind in _WISHES,
        node if kind == "leaf" else way.reborn,
        edge.node.tracked is True if nearest else way.dropped,
        way.picked or picks,
        min(way.cuts + (kind not in _UNTOLD), MOST_COUNTED),
        True,
    )


def _nearer(former: Cut | None, here: Cut, nearest: bool) -> Cut:
    """Return which of two cuts on a way tells more: the one nearer the leaf.

    But a value that is detached and then made a number was detached because torch asks for it.
    """
    if former is None:
        return here
    if here.kind in _UNTOLD or here.kind == "leaf":
        return former
    if here.kind in ("detach", "data") and former.kind in _NUMBERS:
        return former
    return here if nearest or here.kind in _NUMBERS else former


def receiving_leaves(nodes: Mapping[int, Node]) -> set[int]:
    """Return the leaves among the nodes of a walk that may receive a gradient other than zero."""
    if any(edge.cut == "zero" for node in nodes.values() for edge in node.edges):
        return {node.leaf for node in _receiving(nodes.values()) if node.leaf is not None}
    return {node.leaf for node in nodes.values() if node.leaf is not None}


def _receiving(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield the nodes of a walk that some way leads to without an operation of zero slope; youngest first."""
    order = sorted(nodes, key=lambda node: node.id, reverse=True)
    targets = {edge.node.id for node in order for edge in node.edges if edge.flows is not False}
    reached = {node.id for node in order if node.id not in targets}
    for node in order:
        if node.id in reached:
            reached |= {edge.node.id for edge in node.edges if edge.flows is not False and edge.cut != "zero"}
            yield node
