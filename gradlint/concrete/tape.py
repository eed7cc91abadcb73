"""The tape of torch itself: labels on its nodes, ways through it, and what it says of what it has saved.

A label stands in the `metadata` of a node, which torch keeps for as long as the node: nothing here keeps a graph alive.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import torch
from torch.autograd.function import BackwardCFunction

from gradlint.concrete.cuts import Cut
from gradlint.concrete.places import Place, Places
from gradlint.facts.aliases import canonical

LABEL = "gradlint"
LIFE = "gradlint.life"
CUT = "gradlint.cut"
"""In the metadata of a node whose result, or what is made of it, is also used without its graph: where it was cut."""
_FREED = "gradlint.freed"

_ACCUMULATES: Any = type(torch.ones((), requires_grad=True).neg().grad_fn.next_functions[0][0])  # type: ignore[union-attr]
"""The class of the nodes of leaves."""

STALE = "has been modified by an inplace operation"
_VERSIONS = re.compile(r"is at version (\d+); expected version (\d+)")
FREED = "Trying to backward through the graph a second time"


class Label(NamedTuple):
    """The operation that made a node, where, as which in a row, and the memory that it was given or has made.

    Of that memory, `reads` are the storages with their versions after the operation, its results last. `cuts` are the
    places where other values that it was given have left the graph. `calls` are the calls of the user's own code in
    which it ran, the outermost first; they are noted only where a tape is asked for.
    """

    op: str
    place: Place
    number: int
    reads: tuple[tuple[int, int], ...]
    cuts: tuple[Cut, ...] = ()
    calls: tuple[Place, ...] = ()

    @property
    def is_direct(self) -> bool:
        """Return whether the user's own code has called the operation, and no other that it has called."""
        return not self.calls or self.calls[-1].key != self.place.key


def label_of(node: Any) -> Label | None:
    """Return the label of a node itself."""
    found = node.metadata.get(LABEL)
    return found if isinstance(found, Label) else None


def label_of_function(node: Any) -> Label | None:
    """Return what stands for a custom function of the program, which has no label: its `forward`."""
    code = getattr(getattr(getattr(node, "_forward_cls", None), "forward", None), "__code__", None)
    if code is None or not Places.is_own(code.co_filename):
        return None
    return Label(node._forward_cls.__name__, Place(code, 0), sys.maxsize, ())  # When it has saved is not known.


def node_of(tensor: torch.Tensor) -> Any:
    """Return the last node of a tensor; None for one of several views of which torch knows none since another write."""
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


class Fate:
    """What has become of a graph: `spent` if a backward has freed it."""

    def __init__(self) -> None:
        self.spent = False


class Life:
    """Lives in the metadata of a node, and as long as it."""

    __slots__ = ("__weakref__", "fate")

    def __init__(self) -> None:
        self.fate = Fate()


class Way(NamedTuple):
    """A node of the tape with the label of the operation that made it, also where that made several."""

    node: Any
    label: Label | None


def sequence_number() -> int:
    """Return the number that the next node of this thread will have, or less."""
    number: int = torch._C._autograd._get_sequence_nr()
    return number


def nodes_below(roots: Iterable[Any], since: int = 0) -> list[Way]:
    """Return the nodes that a backward from these may run through.

    A node without a label belongs to the operation that has used its result: operations of several nodes label the last
    one. A custom function is an operation of its own, which nothing has labelled, and so may be what was made before
    the node of the number `since`, while nobody watched.
    """
    found: dict[Any, Way] = {}
    stack = [(root, label_of(root)) for root in roots if root is not None]
    while stack:
        node, label = stack.pop()
        if node in found:
            continue
        found[node] = Way(node, label)
        if type(node) is _ACCUMULATES:
            continue
        for below, _ in node.next_functions:
            if type(below) is _ACCUMULATES:
                stack.append((below, label))
            elif below is not None and below not in found:
                own = below.metadata.get(LABEL)
                if own is None and not isinstance(below, BackwardCFunction):
                    own = None if since and below._sequence_nr() < since else label
                stack.append((below, own))
    return list(found.values())


def is_made_by(node: Any, made: Container[str], through: Container[str], most: int) -> bool:
    """Return whether one operation of `made` computes a value, with at most so many of `through` after it."""
    for _ in range(most):
        label = None if node is None else label_of(node)
        if label is None:
            return False
        op = canonical(label.op.removeprefix("nn.functional."))
        if op in made:
            return True
        if op not in through:
            return False
        node = node.next_functions[0][0]
    return False


def leaves_of(ways: Iterable[Way]) -> list[torch.Tensor]:
    """Return the leaves into which a backward through these nodes accumulates."""
    return [way.node.variable for way in ways if type(way.node) is _ACCUMULATES]


def on_the_way_to(ways: Iterable[Way], roots: Iterable[Any], targets: set[Any]) -> list[Way]:
    """Return the nodes from which a gradient reaches one of the targets: a backward for these alone runs no others."""
    by_node = {way.node: way for way in ways}
    leads: dict[Any, bool] = {}
    for root in roots:
        stack: list[tuple[Any, bool]] = [(root, False)]
        while stack:
            node, done = stack.pop()
            below = [one for one, _ in node.next_functions if one is not None]
            if done:
                leads[node] = any(one in targets or leads.get(one, False) for one in below)
            elif node not in leads:
                leads[node] = False
                stack.append((node, True))
                stack += [(one, False) for one in below if one not in leads]
    return [by_node[node] for node, is_way in leads.items() if is_way and node in by_node]


def mark_freed(ways: Iterable[Way], place: Place) -> None:
    """Note which backward has freed what these nodes have saved; the node of a leaf belongs to all of its graphs."""
    for way in ways:
        if type(way.node) is _ACCUMULATES:
            continue
        metadata = way.node.metadata
        metadata[_FREED] = place
        life = metadata.get(LIFE)
        if life is not None:
            life.fate.spent = True


def freed_by(node: Any) -> Place | None:
    """Return the backward that has freed what a node has saved."""
    found = node.metadata.get(_FREED)
    return found if isinstance(found, Place) else None


@cache
def _saved_names(cls: Any) -> tuple[str, ...]:
    return tuple(name for name in dir(cls) if name.startswith("_saved_"))


def saved(node: Any) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the names of what a node has saved, each with what reads it: torch raises where it is stale or freed."""
    for name in _saved_names(node.__class__):
        yield name.removeprefix("_saved_"), lambda name=name: getattr(node, name)  # type: ignore[misc]
    if isinstance(node, BackwardCFunction):
        yield "saved_tensors", lambda: node.saved_tensors


def is_packed(node: Any, name: str) -> bool:
    """Return whether hooks have packed what a node has saved: to read it would call them. True if torch cannot say."""
    raw = getattr(node, f"_raw_saved_{name.removeprefix('saved_')}", ())
    return any(getattr(one, "unpack_hook", True) is not None for one in (raw if isinstance(raw, tuple) else (raw,)))


def is_freed(node: Any) -> bool:
    """Return whether torch says that what a node has saved is freed. No hook of the program is called for that."""
    for name, read in saved(node):
        try:
            if not is_packed(node, name):
                read()
        except RuntimeError as error:
            if FREED in str(error):
                return True
    return False


def versions_in(said: str) -> tuple[int, int] | None:
    """Return the version that a node has saved and the one that torch found, from the message that it raises."""
    found = _VERSIONS.search(said)
    return None if found is None else (int(found[2]), int(found[1]))


def refusing(ways: Iterable[Way], message: str) -> Iterator[tuple[Way, str]]:
    """Yield the nodes, the youngest first, with what they have saved that torch refuses to read with this message."""
    for way in sorted(ways, key=lambda way: -(way.label.number if way.label else 0)):
        for name, read in saved(way.node):
            try:
                read()
            except RuntimeError as error:
                if message in str(error):
                    yield way, name
