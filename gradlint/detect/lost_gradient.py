"""What a backward should reach and does not: the leaves a loss was computed from, behind a cut.

Whether that is a fault is known only when the program has been read: see `gradlint.detect.absence`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import libcst as cst

from gradlint.detect.absence import LostOne
from gradlint.detect.samples import cutting_samples
from gradlint.domain.event import LostLeaf
from gradlint.domain.graph import Edge, Node, leaf_key
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.backward import Walk, felt_leaves, walk


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


_WISHES = frozenset({"copy", "detach", "no_grad", "grad-off", "data", "leaf", "parameter", "grad", "gradient"})
_NUMBERS = frozenset({"item", "numpy", "rewrap"})
_NO_WAYS = frozenset({"overwritten", "scored"})
"""A value that is gone, and one whose density is asked for: what either was computed from is none of the loss's."""

_UNTOLD = frozenset({"untracked"})

MOST_CUTS = 4_000
"""How many (node, cut) pairs a search for lost leaves looks at."""

MOST_COUNTED = 3
"""How many cuts on one way are told apart."""


def lost_leaves(root: Node, reached: set[int]) -> list[Lost]:
    """The leaves that the root's value depends on and no gradient reaches, each with the cut on a way to it.

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
            if edge.cut not in _NO_WAYS:
                stack.append(_along(way, edge))
    return list(found.values())


def _excuse(one: Lost | _Way) -> tuple[bool, bool, bool, bool, int]:
    """How little a way to a leaf tells: of first derivatives, for one, none is expected.

    A sample behind a further cut is an action that the world has answered.
    """
    kind = None if one.cut is None else one.cut.kind
    return one.picked, kind == "sample" and one.cuts > 1, one.wished, kind == "grad", one.cuts


def _along(way: _Way, edge: Edge) -> _Way:
    """One step towards the leaves."""
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
    """Which of two cuts on a way tells more: the one nearer the leaf.

    But a value that is detached and then made a number was detached because torch asks for it.
    """
    if former is None:
        return here
    if here.kind in _UNTOLD or here.kind == "leaf":
        return former
    if here.kind in ("detach", "data") and former.kind in _NUMBERS:
        return former
    return here if nearest or here.kind in _NUMBERS else former


# What is noted of a backward.


def note_refused(machine: Machine, state: State, roots: Sequence[Node], syntax: cst.CSTNode) -> Cut | None:
    """A backward without a graph raises: say which cut is to blame, and give it back."""
    lost = [one for root in roots for one in lost_leaves(root, set()) if _wants(state, one.leaf)]
    if not lost:
        return None
    blamed = min(lost, key=lambda one: _blame(machine, one))
    if blamed.cut.kind == "no_grad" and leaf_key(blamed.leaf) in machine.gradients.read:
        # The new value of a parameter was computed there, from its gradient: another rule tells of that.
        blamed = blamed._replace(cut=blamed.cut._replace(kind="update"))
    machine.emit(_event(machine, state, blamed, syntax, raises=True))
    return blamed.cut


def _event(machine: Machine, state: State, one: Lost, backward: cst.CSTNode, *, raises: bool) -> LostLeaf:
    leaf, cut = one.leaf, one.cut
    assert leaf.leaf is not None
    record = state.heap[leaf.leaf]
    assert isinstance(record, Tensor)
    given = machine.gradients.given.get(cut.syntax)
    copied = machine.gradients.copied.get(cut.syntax)
    return LostLeaf(
        cut.syntax, cut.kind, cut.op, leaf.syntax, backward, raises, record.parameter, given=given, copied=copied
    )


_ORDER = ("no_grad", "grad-off", "data", "detach")
"""Cuts that are often wanted are to blame after all others, in this order."""


def _blame(machine: Machine, one: Lost) -> tuple[bool, bool, int]:
    rank = _ORDER.index(one.cut.kind) + 1 if one.cut.kind in _ORDER else 0
    return leaf_key(one.leaf) not in machine.gradients.optimized, one.picked, rank


def _wants(state: State, leaf: Node) -> bool:
    record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
    return isinstance(record, Tensor) and record.grad is True


def note_lost(machine: Machine, state: State, roots: Iterable[Node], found: Walk, syntax: cst.CSTNode) -> None:
    """Remember the leaves that this backward should reach and does not."""
    if machine.expected:
        return
    felt = felt_leaves(found)
    alone = all(_is_reborn(node) for node in found.possible.values() if node.leaf is not None)
    for root in roots:
        for one in lost_leaves(root, felt):
            if _wants(state, one.leaf):
                assert one.leaf.leaf is not None
                machine.holdings.cut_off.add(one.leaf.leaf)
                event = _event(machine, state, one, syntax, raises=False)
                machine.gradients.lost.append(
                    LostOne(leaf_key(one.leaf), event, one.wished, one.reborn, alone, one.dropped, one.reborn is root)
                )
        for one in _dead_terms(root):
            if _wants(state, one.leaf):
                machine.emit(replace(_event(machine, state, one, syntax, raises=False), term=True))
    for sample in cutting_samples(found, felt):
        for one in lost_leaves(sample, set()):
            if _wants(state, one.leaf) and one.cut.kind == "sample":
                machine.emit(replace(_event(machine, state, one, syntax, raises=False), term=True))


# Terms of a loss.

_SUMS = frozenset({"add", "sub", "rsub", "add_", "sub_", "neg"})
_SCALES = frozenset({"mul", "div", "true_divide", "mul_", "div_"})
_REDUCTIONS = frozenset({"sum", "mean", "squeeze", "view", "reshape"})
_ACCIDENTS = frozenset({"item", "numpy", "rewrap", "nondiff", "integer", "zero"})


def _dead_terms(root: Node) -> Iterator[Lost]:
    """The terms of a sum that were computed from leaves and pass no gradient to any: each a constant to autograd.

    Beside a term that was detached on purpose nothing is said: `hard - soft.detach() + soft` is the straight-through
    trick.
    """
    terms = _terms(root)
    dead = [term for term in terms if not _passes(term)]
    if len(dead) == len(terms):
        return  # The leaves behind them are lost altogether.
    lost = _without_copied([one for term in dead for one in lost_leaves(term, set())])
    if not any(one.wished and not _is_bare_data(one) for one in lost):
        yield from (one for one in lost if one.reborn is None and (one.cut.kind in _ACCIDENTS or _is_bare_data(one)))


def _is_bare_data(one: Lost) -> bool:
    """Whether a leaf's own `.data` stands in the loss: nothing is computed from the leaf that could be kept from it."""
    return one.cut.kind == "data" and one.direct and one.cuts == 1


def _without_copied(lost: list[Lost]) -> list[Lost]:
    """Leaves that are no copies of others among them: what a network was copied from is none of the loss's."""
    sources = {edge.node.id for one in lost for edge in one.leaf.edges if edge.cut == "copy"}
    return [one for one in lost if one.leaf.id not in sources]


def _terms(root: Node) -> list[Node]:
    """What a loss is the sum of, behind signs and constant factors."""
    terms: list[Node] = []
    stack, seen = [root], set[int]()
    while stack:
        node = stack.pop()
        if node.id in seen or not node.live:
            continue
        seen.add(node.id)
        name = node.op.removeprefix("Tensor.")
        linear = name in _SUMS or name in _REDUCTIONS or (name in _SCALES and len(node.edges) == 1)
        if node.leaf is None and linear:
            stack.extend(edge.node for edge in node.edges)
        else:
            terms.append(node)
    return terms


def _passes(term: Node) -> bool:
    """Whether a gradient other than zero may get through a term to anything."""
    if term.tracked is False and term.leaf is None:
        return False
    found = walk([term])
    return bool(felt_leaves(found)) or any(_may_pass(node) for node in found.possible.values())


def _may_pass(node: Node) -> bool:
    """Whether a graph may stand behind a node that is not known. Data that comes from elsewhere has none."""
    if node.tracked is not None or (node.edges and node.op != "call"):
        return False
    return node.op != "input" or isinstance(node.place, (cst.Param, cst.Call))


def _is_reborn(leaf: Node) -> bool:
    """Whether a leaf was made of a value that has a history."""
    return any(edge.cut == "leaf" for edge in leaf.edges)


def note_blind(machine: Machine, found: Walk) -> None:
    """Remember a backward that may go anywhere: no leaf is known behind it, or something that a caller passed in."""
    nodes = found.possible.values()
    passed = any(isinstance(node.syntax, cst.Param) and (node.op == "input" or node.leaf) for node in nodes)
    if passed or not any(node.leaf is not None for node in nodes):
        machine.gradients.blind = True
