"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.event import Event, KeptGraph
from gradlint.domain.value import Ref, Unknown, Value


class Waiting(NamedTuple):
    """A place that grows, and the roots within it: no fault if one of them is backpropagated after all."""

    event: KeptGraph
    within: tuple[object, ...]


class Ledger:
    """Entries by the syntax that made them, so that paths and turns meet in them."""

    def __init__(self) -> None:
        self.backwards = 0
        self.steps = 0
        self.depth = 0
        """How many loops are being run."""
        self.turns: list[int] = []
        """When the turns of these began."""
        self.evaluated: set[cst.CSTNode] = set()
        """Where the leaves were made of networks that were sent to evaluation."""
        self.stored: dict[tuple[object, Value], cst.CSTNode] = {}
        """Where a container was given a value."""
        self.waiting: dict[cst.CSTNode, list[Waiting]] = {}
        """Places that grow, by where, as they were found on each path."""
        self.culprits: dict[object, bool] = {}
        """What the places hold that grow, and whether one of them is at fault for certain, whatever follows."""
        self.new_culprits: dict[object, bool] = {}
        self.clips: dict[cst.CSTNode, None] = {}
        """The calls that clipped gradients which are None."""

    # What is done.

    def store(self, container: Value, value: Value, syntax: cst.CSTNode) -> None:
        """A container is given a value that may have a graph."""
        if isinstance(container, Ref) and _may_hold(value):
            self.stored[container.id, value] = syntax

    def settle(self) -> None:
        """A loop has been judged: what it has entered counts for the loops around it."""
        for root, certain in self.new_culprits.items():
            self.culprits[root] = certain or self.culprits.get(root, False)
        self.new_culprits.clear()

    # What was seen, and what is left undone.

    def kept(self) -> Iterator[Event]:
        """The places that grow and hold what a backward has freed, or walks again in each turn: no other use helps."""
        for found in self.waiting.values():
            event = next((one.event for one in found if is_certain(one)), None)
            if event is not None:
                yield event


def _may_hold(value: Value) -> bool:
    """Whether a value, or one in a tuple of such, may have a graph."""
    return all(map(_may_hold, value)) if type(value) is tuple else isinstance(value, (Ref, Unknown, int, str, float))


def is_certain(one: Waiting) -> bool:
    """Whether what a place keeps is of no use any more, whatever follows."""
    return one.event.spent or one.event.rewalked
