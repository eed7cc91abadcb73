"""How a graph was put together out of former ones, as sums and lists are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradlint.domain import walk
from gradlint.domain.graph import Node
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Unknown
from gradlint.domain.walk import reachable
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ACCUMULATES
from gradlint.interpreter.contents import all_attributes, contents
from gradlint.interpreter.reachable import ARITHMETIC, Root, root_of

_GATHERING = ACCUMULATES | ARITHMETIC | {"index assignment"}
"""Operations that put results together without computing a further step from them."""

MOST = 400
"""How many parts of one root are looked at."""


class Parts(NamedTuple):
    """What a root gathers: all the roots on the way, and those at the end of it, which are no sums themselves.

    The ends are in the order in which they are found: the order of a set would differ from run to run.
    """

    all: frozenset[Root]
    ends: tuple[Root, ...]


def parts_of(state: State, root: Root) -> Parts:
    """Follow a root back through sums, lists and their like."""
    every = list(reachable([root], lambda one: _terms(state, one), MOST))
    return Parts(frozenset(every), tuple(one for one in every if not _is_sum(one)))


def _is_sum(root: Root) -> bool:
    if isinstance(root, Node):
        return canonical(root.op) in _GATHERING
    return root.key is not None and root.key[0] in ARITHMETIC


def _terms(state: State, root: Root) -> list[Root]:
    """Return the roots that a sum is made of."""
    if not _is_sum(root):
        return []
    if isinstance(root, Node):
        flowing = [edge.node for edge in root.edges if edge.flows is not False and edge.cut != "zero"]
        return [node for node in flowing if node.tracked is not False]
    assert root.key is not None
    symbols = [root_of(state, part) for part in root.key[1:] if isinstance(part, (Ref, Unknown))]
    return [part for part in symbols if part is not None]


def reaches(starts: Iterable[Root], target: Root) -> bool:
    """Return whether a gradient from one of the starts may flow to the target."""
    if not isinstance(target, Node):
        return False
    return walk.is_reachable(target, (start for start in starts if isinstance(start, Node)))


def is_reachable(state: State, address: int) -> bool:
    """Return whether an object is still reachable: a list whose name has been given to a new one keeps nothing
    alive.
    """
    # Temporaries are numbers, and hold what an expression once had as a value.
    named = (value for frame in state.frames.values() for name, value in frame.names.items() if isinstance(name, str))
    yielded = (frame.yields for frame in state.frames.values())
    return Ref(address) in contents(state, (*named, *yielded), all_attributes, calls=True)
