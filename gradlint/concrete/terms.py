"""The terms of which a loss is a sum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from gradlint.concrete.tape import Label, label_of
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import JOINS, MEANS, RESHAPES, SCALES, SUMS

_TERMS = 256
_PASSES = MEANS | RESHAPES
"""What of each element of its input adds a part to a loss."""


def linear_nodes(roots: list[torch.Tensor]) -> dict[Any, Label | None]:
    """Return the nodes of which a loss of one element is a sum, or a mean, with the labels of those that add terms."""
    stack: list[Any] = [root.grad_fn for root in roots if root.numel() == 1 and root.grad_fn is not None]
    found: dict[Any, Label | None] = {}
    while stack and len(found) < _TERMS:
        node = stack.pop()
        label = None if node in found else label_of(node)
        found.setdefault(node, None)
        op = "" if label is None else canonical(label.op)
        below = [one for one, _ in node.next_functions if one is not None] if label is not None else []
        if op in SUMS or op in JOINS:
            found[node] = label
            stack += below
        elif op in _PASSES or (op in SCALES and len(below) == 1):
            stack += below
        elif op in SCALES:
            stack += filter(_is_vector, below)
    return found


def numbers_added(roots: list[torch.Tensor]) -> Iterator[Any]:
    """Yield the nodes of the terms that are one number each."""
    linear = linear_nodes(roots)
    for node, label in linear.items():
        for below, _ in node.next_functions if label is not None else ():
            if below is not None and linear.get(below) is None and _shape(below) == ():
                yield below


def _is_vector(node: Any) -> bool:
    """Return whether a node has stacked numbers, such as the terms of a loss that get weights."""
    shape = _shape(node)
    return type(node).__name__.startswith("StackBackward") and shape is not None and len(shape) == 1


def _shape(node: Any) -> tuple[int, ...] | None:
    """Return the shape of the only result of a node, as far as this torch tells."""
    made: Any = getattr(node, "_input_metadata", ())
    return tuple(made[0].shape) if len(made) == 1 else None
