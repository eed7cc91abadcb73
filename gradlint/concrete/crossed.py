"""Differences of a column, as a layer with one output gives it, and a row: all of one with all of the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import is_made_by
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.losses import CrossedShapes
from gradlint.facts import traits

Tensor = torch.Tensor
_CROSSED = "gradlint.crossed"
_DISTANCES = ("PowBackward", "AbsBackward")
"""The nodes of the square and the absolute value of a difference."""
_DEPTH = 4


class Crossed(Watcher):
    """Looks at differences whose square, or absolute value, is part of a loss."""

    functions = frozenset({Tensor.sub, Tensor.__sub__, Tensor.__rsub__, torch.sub, torch.subtract, Tensor.subtract})
    sought = (CrossedShapes,)

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._found: dict[tuple[int, int], Seen] = {}
        self._is_crossing = False

    def operated(self, it: Operation) -> None:
        """Mark the node of a difference of a column that a layer computes and a row that has no graph."""
        if not it.tracked or it.made[0].dim() != 2 or len(it.given) != 2:
            return
        row, column = sorted(it.given, key=Tensor.dim)
        node: Any = it.tracked[0].grad_fn
        if row.dim() != 1 or column.dim() != 2 or row.requires_grad or node is None:
            return
        if column.shape == (len(row), 1) and len(row) > 1 and _is_computed(column.grad_fn):
            node.metadata[_CROSSED] = it.place, tuple(tuple(one.shape) for one in it.given)
            self._is_crossing = True

    def backpropagated(self, call: Call, place: Place) -> None:
        """Look for the squares of marked differences."""
        for way in call.ways if self._is_crossing and call.fills else ():
            for below, _ in way.node.next_functions if type(way.node).__name__.startswith(_DISTANCES) else ():
                found = None if below is None else below.metadata.get(_CROSSED)
                if found is not None:
                    met, (one, other) = found
                    self._found.setdefault(met.key, Seen(CrossedShapes, met, {"met": met, "one": one, "other": other}))

    def seen(self) -> Iterator[Seen]:
        """Yield the differences in losses."""
        yield from self._found.values()


def _is_computed(node: Any) -> bool:
    """Return whether a layer computes a column, with nothing but functions of each element after it."""
    return is_made_by(node, traits.COLUMNS, traits.UNARY, _DEPTH)
