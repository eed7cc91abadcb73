"""Where gradients end: the leaves that a value was computed from after a cut of the tape, and samples that cut it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import NOT_COMPUTED_FROM, Edge, Node
from gradlint.domain.walk import gradient_inputs, inputs, leaves, reachable, sloped_inputs
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import MEANS, RESHAPES, SCALES, SUMS


class Cut(NamedTuple):
    """Where a gradient ends on the way from a root to a leaf: its kind, place, and the operation there."""

    kind: str
    syntax: cst.CSTNode
    op: str


class Lost(NamedTuple):
    """A leaf after a cut; or how far a search for one has come, at first without a cut.

    `intended`: the path is cut by something that programs write on purpose, such as `detach`; `picked`: on the path the
    value only chooses which others to use. `releafed`: where a new leaf was made of the value, so that a backward has
    something to run to. `dropped`: torch had recorded a graph up to the cut. `cuts`: how many there are on the path.
    `direct`: the leaf's own value is cut off, nothing computed from it.
    """

    leaf: Node
    cut: Cut
    intended: bool = False
    releafed: Node | None = None
    dropped: bool = False
    picked: bool = False
    cuts: int = 0
    direct: bool = False


ACCIDENTS = frozenset({"item", "numpy", "rewrap", "nondiff", "integer", "zero"})
"""Cuts that nobody makes on purpose."""

EXPLICIT_CUTS = frozenset({"detach", "data", "item", "no_grad", "numpy", "rewrap"})
"""Cuts that the program spells out: after them a constant is meant, or another rule reports it."""

_INTENDED = frozenset({"copy", "detach", "no_grad", "grad-off", "data", "leaf", "parameter", "grad", "gradient"})
_NUMBERS = frozenset({"item", "numpy", "rewrap"})
_UNNAMED = frozenset({"untracked"})

MOST_CUTS = 4_000
"""How many (node, cut) pairs a search for lost leaves looks at."""

MOST_COUNTED = 3
"""How many cuts on one way are told apart."""


def lost_leaves(root: Node, reached: set[int]) -> list[Lost]:
    """Return the leaves that the root's value depends on and no gradient reaches, each with the cut on a way to it.

    Of several cuts on a way it is the one nearest the leaf: up to there a gradient could have flowed. Of several
    ways to a leaf one counts that has no intentional cut, and the fewest cuts: a reward that an environment gave for a
    sampled action has more of them than the mistake. Of equals it is the shortest: targets are computed from
    predictions.
    """
    found: dict[int, Lost] = {}
    stack = deque([Lost(root, Cut("", root.syntax, ""))])
    seen: set[Lost] = set()
    while stack:
        way = stack.popleft()
        node = way.leaf
        if way in seen or not node.live or len(seen) > MOST_CUTS:
            continue
        seen.add(way)
        if node.leaf is not None and way.cut.kind and node.leaf not in reached:
            former = found.get(node.leaf)
            if former is None or _excuse(former) > _excuse(way):
                found[node.leaf] = way
        stack.extend(_along(way, edge) for edge in node.edges if edge.cut not in NOT_COMPUTED_FROM)
    return list(found.values())


def _excuse(one: Lost) -> tuple[bool, bool, bool, bool, int]:
    """Return how little a way to a leaf tells: of first derivatives, for one, none is expected.

    A sample before a further cut is an action that the world has answered.
    """
    return one.picked, one.cut.kind == "sample" and one.cuts > 1, one.intended, one.cut.kind == "grad", one.cuts


def _along(way: Lost, edge: Edge) -> Lost:
    """Return one step towards the leaves."""
    node = way.leaf
    if edge.flows is not False and edge.cut != "zero":
        return way._replace(leaf=edge.node, direct=False)
    own = edge.cut if edge.flows is not False or edge.cut != "zero" else None
    kind = own or node.cut or "untracked"
    nearest = edge.node.tracked is not False or edge.node.leaf is not None
    # The operation has a gradient, only not with regard to this input: an index.
    picks = edge.cut == "nondiff" and node.cut is None
    return Lost(
        edge.node,
        _nearer(way.cut, Cut(kind, node.place or node.syntax, node.op), nearest),
        way.intended or kind in _INTENDED,
        node if kind == "leaf" else way.releafed,
        edge.node.tracked is True if nearest else way.dropped,
        way.picked or picks,
        min(way.cuts + (kind not in _UNNAMED), MOST_COUNTED),
        True,
    )


def last_cut(root: Node) -> Cut | None:
    """Return the `detach` or `.data` of a whole loss, up to which torch may have recorded a graph."""
    node = root
    while node.leaf is None:
        live = [edge for edge in node.edges if edge.node.live]
        if len(live) != 1:
            return None
        kind = node.cut or live[0].cut
        if kind is not None or live[0].flows is False:
            is_last = kind in ("detach", "data") and live[0].node.tracked is not False
            return Cut(kind or "", node.place or node.syntax, node.op) if is_last else None
        node = live[0].node
    return None


def _nearer(former: Cut, here: Cut, nearest: bool) -> Cut:
    """Return which of two cuts on a way tells more: the one nearer the leaf.

    But a value that is detached and then made a number was detached because torch asks for it.
    """
    if not former.kind:
        return here
    if here.kind in _UNNAMED or here.kind == "leaf":
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
            reached |= {below.id for below in sloped_inputs(node)}
            yield node


def cutting_samples(possible: Mapping[int, Node], receiving: set[int]) -> list[Node]:
    """Return the samples that a loss was computed from, while it trains their distribution by another way only.

    So it is with the latent code of a variational autoencoder, whose distribution the divergence trains. Where the
    `log_prob` of the sample is in the loss, or that of one drawn there in another iteration, the score function is
    meant; where the loss trains nothing of the distribution, another one may.
    """
    nodes = list(possible.values())
    scored = {one.syntax for node in nodes if node.op == "log_prob" for one in _samples(e.node for e in node.edges)}
    used = _samples(
        edge.node
        for node in nodes
        if node.tracked is True and node.op != "log_prob"
        for edge in node.edges
        if edge.flows is False and edge.cut is None
    )
    unscored = (one for one in used if one.syntax not in scored)
    return [one for one in unscored if any(leaf.leaf in receiving for leaf in leaves(inputs(one)))]


def _samples(starts: Iterable[Node]) -> list[Node]:
    """Return the samples that values on no tape were computed from, on paths that only `sample` cuts."""
    found = reachable(filter(_is_off_tape, starts), _inputs_off_tape)
    return [node for node in found if node.op == "sample" and node.cut == "sample"]


def _is_off_tape(node: Node) -> bool:
    return node.tracked is False and node.live


def _inputs_off_tape(node: Node) -> list[Node]:
    return [edge.node for edge in node.edges if node.cut is edge.cut is None and _is_off_tape(edge.node)]


_LINEAR = SUMS | MEANS | RESHAPES


def dead_terms(root: Node) -> Iterator[Lost]:
    """Yield the terms of a sum that were computed from leaves and pass no gradient to any: each a constant to autograd.

    Beside a term that was detached on purpose nothing is said: `hard - soft.detach() + soft` is the straight-through
    trick.
    """
    terms = _terms(root)
    passing = _passing(terms)
    dead = [term for term in terms if term.id not in passing or (term.tracked is False and term.leaf is None)]
    if len(dead) == len(terms):
        return  # The leaves before them are lost altogether.
    lost = _without_copied([one for term in dead for one in lost_leaves(term, set())])
    if not any(one.intended and not _is_bare_data(one) for one in lost):
        yield from (one for one in lost if one.releafed is None and (one.cut.kind in ACCIDENTS or _is_bare_data(one)))


def _is_bare_data(one: Lost) -> bool:
    """Return whether a leaf's own `.data` is in the loss: nothing computed from it that could be kept from it."""
    return one.cut.kind == "data" and one.direct and one.cuts == 1


def _without_copied(lost: list[Lost]) -> list[Lost]:
    """Leave out what others among them were copied from: that is none of the loss's."""
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


def _passing(terms: Iterable[Node]) -> set[int]:
    """Return the nodes behind some terms through which a gradient other than zero may get to anything."""
    to_leaves: set[int] = set()
    to_unknown: set[int] = set()
    for node in sorted(reachable(terms, gradient_inputs), key=lambda node: node.id):  # Inputs are older.
        flowing = [edge for edge in node.edges if edge.flows is not False]
        if node.leaf is not None or any(edge.node.id in to_leaves and edge.cut != "zero" for edge in flowing):
            to_leaves.add(node.id)
        if _may_pass(node) or any(edge.node.id in to_unknown for edge in flowing):
            to_unknown.add(node.id)
    return to_leaves | to_unknown


def _may_pass(node: Node) -> bool:
    """Return whether a node that is not known may have a graph. Data that comes from elsewhere has none."""
    if node.tracked is not None or (node.edges and node.op != "call"):
        return False
    return node.op != "input" or isinstance(node.place, (cst.Param, cst.Call))
