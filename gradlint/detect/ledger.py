"""The ledger: what the whole program did, on any path, for what can only be judged when it has been read.

That something never happens is certain only at the end. The machine enters here what was done; `absences` says what
was left undone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import libcst as cst

from gradlint.domain.event import Event, KeptGraph, Noticed
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
        self.frozen: dict[int, cst.CSTNode] = {}
        """Where leaves that had been trained were frozen last."""
        self.constants: dict[int, tuple[cst.CSTNode, cst.CSTNode | None]] = {}
        """The optimizers whose steps find no tensor that requires grad: where made, and such a step if all do."""
        self.idle: dict[int, tuple[cst.CSTNode, cst.CSTNode, cst.CSTNode]] = {}
        """The optimizers all of whose parameters are frozen for good: where it was made, where they
        were frozen, and the first step behind that."""
        self.stored: dict[tuple[object, Value], cst.CSTNode] = {}
        """Where a container was given a value."""
        self.zeroed: defaultdict[int, int] = defaultdict(lambda: -1)
        """In how many loops, at the most, the gradients of an optimizer were cleared."""
        self.late: dict[cst.CSTNode, tuple[int, cst.CSTNode]] = {}
        """Steps that found no gradient, and the backward that filled them behind: for which optimizer."""
        self.busy: set[int] = set()
        """The optimizers of which some step may have found gradients."""
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

    def absences(self, explained: AbstractSet[cst.CSTNode], *, complete: bool, walks: bool) -> Iterator[Event]:
        """What the program left undone. `explained`: optimizers of which is known what they should hold instead.

        `walks`: the program runs a backward.
        """
        for step, (optimizer, backward) in self.late.items():
            if optimizer not in self.busy and complete:
                told = "this backward fills the gradients, and no step follows"
                yield Noticed(step, "step-before-backward", "last", ((backward, told),))
        for made, switch, idle in self.idle.values():
            if made not in explained:
                yield Noticed(switch, "grad-mode-left-off", "", ((idle, "this step finds no gradient any more"),))
        for made, constant in self.constants.values():
            if constant is not None and complete:
                yield Noticed(made, "constants-in-optimizer", "", ((constant, "this step finds no gradient"),))
        for clip in self.clips if walks else ():
            yield Noticed(clip, "clip-misplaced", "there are no gradients yet: no backward has filled them")


def _may_hold(value: Value) -> bool:
    """Whether a value, or one in a tuple of such, may have a graph."""
    return all(map(_may_hold, value)) if type(value) is tuple else isinstance(value, (Ref, Unknown, int, str, float))


def is_certain(one: Waiting) -> bool:
    """Whether what a place keeps is of no use any more, whatever follows."""
    return one.event.spent or one.event.rewalked
