"""The graph of a value: torch's tape and the provenance of values in one.

Every operation on tensors makes a `Node`. Where autograd records the operation the node is *tracked* and is torch's
`grad_fn`; where it does not, the node says where the value came from all the same. An edge on which no gradient
flows back, though a value flowed forward, is a *cut*; it has a kind and a place. So `depends_on` is what a traversal of
all edges finds, `reaches` what one of the differentiable edges of tracked nodes finds (design, section 1).

Nodes are frozen, and shared by the states that a program splits into. What changes with time (which nodes are freed,
how far a version counter has moved) is kept in the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import FrozenInstanceError
from itertools import count
from types import MappingProxyType
from typing import Final, NamedTuple, NoReturn, TypeAlias

import libcst as cst

from gradlint.domain.shape import Shape

Tri: TypeAlias = "bool | None"
"""Yes, no, or None for unknown."""

Site: TypeAlias = "tuple[cst.CSTNode, Site] | None"
"""The calls that are under way, the last one first: where the same line makes several things, it tells them apart."""

LeafKey: TypeAlias = "tuple[cst.CSTNode, str, Site]"
"""Where a leaf was made, as which parameter, in which calls: the same on all paths, whatever its address there."""

_ancient = count(2)
_recent = count(1 << 28)
_numbers = _recent


def fresh_number() -> int:
    """Return a number never used before, for nodes and addresses alike: a larger one is younger."""
    return next(_numbers)


@contextmanager
def ancient() -> Iterator[None]:
    """Let what the block makes count as older than all else: other files of a program, whenever they are read."""
    global _numbers
    former, _numbers = _numbers, _ancient
    try:
        yield
    finally:
        _numbers = former


class Saved(NamedTuple):
    """A tensor kept for backward: which version counter and memory, and how many writes each had seen by then.

    `node` is its graph where it may require grad: a second derivative goes there. `own`: it is a result of
    the operation that saves it, so that this graph is the operation's own node. `hooked`: hooks for saved tensors were
    installed, so that backward takes what these give it, and torch compares no versions (saved_variable.cpp).
    """

    counter: int
    version: int
    memory: int
    hidden: int
    label: str
    multi: bool = False
    node: Node | None = None
    own: bool = False
    hooked: bool = False


class Edge(NamedTuple):
    """An input of an operation. `flows` says whether a gradient flows back along it."""

    node: Node
    flows: Tri = True
    cut: str | None = None


NOT_COMPUTED_FROM = frozenset({"overwritten", "scored"})
"""Cuts at a value that is gone, and at one whose density is asked for: the result is computed from neither."""

NO_OPERANDS: Mapping[str, object] = MappingProxyType({})
"""Of a node that is no call with arguments, or not one that is known."""


class Term(NamedTuple):
    """A tensor as an operand of a formula: the operation that made it, its size and type, all of that moment."""

    node: Node
    shape: Shape = None
    dtype: str | None = None
    grad: Tri = None


DATA = "data"
"""The operation that stands for what a program reads, and does not compute: no gradient could flow to it."""

SUPPOSED_CALL = "call of "
"""How the operation begins that stands for the call of a network or a loss function that is not shown."""


class Node:
    """One operation, or the making of a leaf.

    `tracked`: whether autograd recorded it. `frees`: whether a backward frees something, so that a second one
    raises. `saved` is certain, `maybe_saved` says that it may keep more. `leaf` is the tensor that a gradient is
    accumulated into. `cut` names why nothing flows through an untracked node, `place` where that was decided, if
    elsewhere: the `no_grad` block, the flag that makes a leaf; and where a value was made of which nothing else is
    known. `key`: what a leaf is known by on all paths. `live`: some leaf, or something unknown, is reachable from it;
    where it does not, no gradient could flow anyway. `operands` are the arguments by parameter name, with a `Term`
    for a tensor: with them, a value is known as the formula that it was computed by.
    """

    __slots__ = (
        "cut",
        "edges",
        "frees",
        "id",
        "key",
        "leaf",
        "live",
        "maybe_saved",
        "op",
        "operands",
        "place",
        "saved",
        "syntax",
        "tracked",
    )

    def __init__(
        self,
        op: str,
        syntax: cst.CSTNode,
        edges: Iterable[Edge] = (),
        *,
        tracked: Tri = False,
        saved: tuple[Saved, ...] = (),
        maybe_saved: bool = False,
        leaf: int | None = None,
        cut: str | None = None,
        frees: Tri = None,
        place: cst.CSTNode | None = None,
        operands: Mapping[str, object] | None = None,
        key: LeafKey | None = None,
        live: bool = False,
    ) -> None:
        self.id: Final = next(_numbers)
        self.op: Final = op
        self.syntax: Final = syntax
        self.place: Final = place
        self.key: Final = key
        self.edges: Final = tuple(edges)
        self.tracked: Final = tracked
        self.saved: Final = saved
        self.maybe_saved: Final = maybe_saved
        self.leaf: Final = leaf
        self.cut: Final = cut
        self.operands: Final[Mapping[str, object]] = operands or NO_OPERANDS
        self.frees: Final = bool(saved) or None if frees is None else frees
        self.live: Final[bool] = (
            live or tracked is not False or leaf is not None or True in [edge[0].live for edge in self.edges]
        )
        # Slots are written fastest like this: object.__setattr__ takes three times as long to make a node.
        self.__class__ = _FrozenNode

    def __repr__(self) -> str:
        return f"<{self.op} {self.id} tracked={self.tracked}>"


class _FrozenNode(Node):
    """A node that is made: the class of every node, which refuses what `__init__` of its base still may."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise FrozenInstanceError(f"cannot assign to field {name!r}: nodes are shared by states")

    def __delattr__(self, name: str) -> NoReturn:
        raise FrozenInstanceError(f"cannot delete field {name!r}: nodes are shared by states")


def leaf_key(leaf: Node) -> LeafKey:
    """Return what a leaf is known by on all paths."""
    return leaf.key or (leaf.syntax, "", None)
