"""Gradients that are zero in each step: the operation that makes zeros of a gradient that has others.

Whether a gradient is zero is seen by each step (`nonfinite.py`). Where one was zero twice, the next backward that runs
to it is watched once: what each node is given, and what it gives on.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import Label, Way, on_the_way_to
from gradlint.concrete.terms import numbers_added
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.domain.fault.numerics import ZeroGradient

_FLAT = (torch.round, torch.floor, torch.ceil, torch.trunc, torch.fix, torch.sign, torch.sgn, torch.floor_divide)
_FLAT_NODES = tuple(f"{function.__name__.capitalize()}Backward" for function in _FLAT)
_ENOUGH = 5
"""So many steps must have found nothing but zeros."""


@dataclass
class Passed:
    """Whether a node was `given` a gradient that is not zero, and whether it `gave` one to each of those below it."""

    given: bool = False
    gave: list[bool] = field(default_factory=list)

    def stops(self, node: Any, targets: set[Any]) -> bool:
        """Return whether all that it gives to these nodes is zero."""
        below = zip(node.next_functions, self.gave, strict=False)
        return self.given and not any(some for (one, _), some in below if one in targets)


class Zeros(Watcher):
    """Looks for parameters whose gradient is always zero, and for the zero between them and the loss."""

    functions = frozenset((*_FLAT, *(getattr(torch.Tensor, function.__name__) for function in _FLAT)))

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._ran = False
        self._probed: dict[int, tuple[Leaf, str, Place]] = {}
        self._probing: list[tuple[Way, Passed, Any]] = []
        self._flat: dict[tuple[int, int], tuple[list[Leaf], str, Place, Place]] = {}
        self._fed: set[int] = set()
        self._dead: dict[tuple[int, int], list[tuple[Label, Place]]] = {}
        """The terms of losses of which the derivative is zero everywhere, each with the backward."""

    def paused(self) -> None:
        """Leave the nodes of a backward that is under way."""
        for _, _, handle in self._probing:
            handle.remove()
        self._probing = []

    def operated(self, it: Operation) -> None:
        """Note that an operation has run of which the derivative is zero everywhere."""
        self._ran = True

    def backward_begins(self, call: Call, place: Place) -> None:
        """Watch the nodes of one backward to leaves whose gradient was zero twice."""
        self._probing = []
        if not self.training.zeros:
            return
        wanted = [leaf for one in call.leaves if (leaf := self.training.leaf(one)).checked == leaf.zeros >= 2]
        if not call.fills or not any(id(leaf) not in self._probed for leaf in wanted):
            return
        for way in call.ways:
            passed = Passed()
            self._probing.append((way, passed, way.node.register_hook(_noting(passed))))

    def backpropagated(self, call: Call, place: Place) -> None:
        """Take the watched nodes that were given a gradient, and gave on zeros."""
        if not call.fills:
            return
        self._pass_flat(call, place)
        if not self._probing:
            return
        for _, _, handle in self._probing:
            handle.remove()
        probed = {way.node: passed for way, passed, _ in self._probing}
        roots = [root.grad_fn for root in call.roots if root.grad_fn is not None]
        for one in call.leaves:
            leaf = self.training.leaf(one)
            if leaf.checked != leaf.zeros or leaf.zeros < 2 or id(leaf) in self._probed:
                continue
            ends = {way.node for way in call.ways if getattr(way.node, "variable", None) is one}
            ways = on_the_way_to(call.ways, roots, ends)
            targets = ends | {way.node for way in ways}
            zero = [way.label for way in ways if way.label and probed[way.node].stops(way.node, targets)]
            if zero:
                label = max(zero, key=lambda label: label.number)
                self._probed[id(leaf)] = leaf, label.op, label.place
        self._probing = []

    def _pass_flat(self, call: Call, place: Place) -> None:
        """Note the leaves to which each way leads through an operation of which the derivative is zero everywhere."""
        if not self._ran:
            return
        flat = [way for way in call.ways if type(way.node).__name__.startswith(_FLAT_NODES)]
        if not flat:
            self._fed |= {id(self.training.leaf(one)) for one in call.leaves} if self._flat else set()
            return
        stop = {way.node: way.label for way in flat}
        for term in numbers_added(call.roots):
            within = _above([term], stop)
            last = max((label for one in within if (label := stop.get(one))), key=lambda one: one.number, default=None)
            if last is not None and not any(type(one).__name__ == "AccumulateGrad" for one in within):
                self._dead.setdefault(last.place.key, []).append((last, place))
        reached = _above([root.grad_fn for root in call.roots if root.grad_fn is not None], stop)
        fed = {id(node.variable) for node in reached if type(node).__name__ == "AccumulateGrad"}
        self._fed |= {id(self.training.leaf(one)) for one in call.leaves if id(one) in fed}
        lost = [self.training.leaf(one) for one in call.leaves if id(one) not in fed]
        label = flat[-1].label
        if lost and label is not None:
            self._flat.setdefault(label.place.key, (lost, label.op, label.place, place))

    def seen(self) -> Iterator[Seen]:
        """Yield the operations before parameters whose gradient is still zero, and in terms without any."""
        told = set()
        for leaves, op, made, backward in self._flat.values():
            lost = [one for one in leaves if id(one) not in self._fed and one.zeros == one.checked]
            if lost:
                told.add(made.key)
                for one in lost:
                    one.lost = True
                fields: dict[str, object] = {
                    "kind": "zero",
                    "op": op,
                    "leaf": lost[0].made,
                    "backward": backward,
                    "raises": False,
                }
                yield Seen(LostLeaf, made, fields | {"parameter": bool(lost[0].name)})
        for label, backward in (found[0] for key, found in self._dead.items() if len(found) > 1 and key not in told):
            fields = {"kind": "zero", "op": label.op, "leaf": None, "backward": backward, "raises": False}
            yield Seen(LostLeaf, label.place, fields | {"parameter": True, "term": True})
        for leaf, op, place in self._probed.values():
            if leaf.checked == leaf.zeros >= _ENOUGH and not leaf.lost:
                fields = {"op": op, "leaf": leaf.made, "name": leaf.name, "steps": leaf.zeros}
                yield Seen(ZeroGradient, place, fields)


def _above(nodes: list[Any], stop: Container[Any]) -> set[Any]:
    """Return the nodes to which a backward comes before it comes to some, and these."""
    reached, stack = set[Any](), list(nodes)
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            stack += [one for one, _ in node.next_functions if one is not None and node not in stop]
    return reached


def _noting(passed: Passed) -> Any:
    """Return a hook that notes whether a node was given a gradient that is not zero, and where it gives on one."""

    def note(inputs: tuple[torch.Tensor | None, ...], outputs: tuple[torch.Tensor | None, ...]) -> None:
        with torch._C.DisableTorchFunction():
            passed.given = any(_is_some(one) for one in outputs)
            passed.gave = [_is_some(one) for one in inputs]

    return note


def _is_some(gradient: torch.Tensor | None) -> bool:
    """Return whether a gradient is not zero."""
    return gradient is not None and bool(gradient.detach().any())
