"""Where tensors leave the graph."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place

_VALUELESS = ("_like", "new_")
"""Operations that take no value from a tensor, but its shape and type."""


class Cut(NamedTuple):
    """Where a value has left the graph of leaves: its kind, as the faults name it, and the operation.

    `steps` is how many steps there were by then. The leaves are known of the first cuts at a place.
    """

    kind: str
    op: str
    place: Place
    steps: int = 0
    leaves: tuple[Leaf, ...] = ()


def cut_of(kind: str | None, op: str, source: torch.Tensor, result: Any, place: Place) -> Cut | None:
    """Return the cut between a tensor that requires grad and the result of an operation that does not."""
    if op.endswith(_VALUELESS[0]) or op.startswith(_VALUELESS[1]):
        return None
    if kind is None:
        if op in ("detach", "detach_"):
            kind = "detach"
        elif op == "tensor":
            kind = "rewrap"
        elif not torch.is_grad_enabled():
            kind = "no_grad"
        elif not (result.is_floating_point() or result.is_complex()):
            kind = "integer" if source.shape == result.shape and op in _CASTS else "nondiff"
        else:
            return None
    return Cut(kind, op, place)


_CASTS = frozenset({"to", "type", "long", "int", "short", "char", "byte", "bool", "type_as"})
