"""Skip connections whose input is not what it was: the block beside it begins with an activation in place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.nn import functional

from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import is_made_by, label_of, nodes_below
from gradlint.concrete.watcher import Known, Operation, Watcher
from gradlint.domain.fault.inplace import SkipOverwritten
from gradlint.facts import traits
from gradlint.facts.aliases import bare

Tensor = torch.Tensor
_WRITTEN = "gradlint.activated"
_NAMES = traits.ACTIVATIONS | {f"{name}_" for name in traits.ACTIVATIONS}
_ACTIVATIONS = frozenset(
    getattr(owner, name) for owner in (torch, Tensor, functional) for name in _NAMES if hasattr(owner, name)
)
_JOINS = frozenset(
    {Tensor.add, Tensor.__add__, Tensor.__radd__, Tensor.add_, Tensor.__iadd__, torch.add, torch.cat, torch.concat}
)
_KEEPS = traits.RESHAPES | {"dropout", *(f"max_pool{size}d" for size in (1, 2, 3))}
"""What makes no negative value of others."""
_FAR = 16


class Skips(Watcher):
    """Looks at sums of what a block was given and what it computes of that."""

    functions = _ACTIVATIONS | _JOINS
    sought = (SkipOverwritten,)

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._has_written = False
        self._found: dict[tuple[int, int], Seen] = {}

    def operated(self, it: Operation) -> None:
        """Mark a value that an activation overwrites; look for such values among what is added."""
        if it.func in _ACTIVATIONS:
            node: Any = it.tracked[0].grad_fn if it.tracked else None
            if node is not None and it.given and it.tracked[0] is it.given[0]:
                node.metadata[_WRITTEN] = True
                self._has_written = True
        elif self._has_written and len(it.given) > 1 and it.place.key not in self._found:
            nodes: list[Any] = [one.grad_fn for one in it.given if one.requires_grad]
            for written in nodes:
                if written is not None and _WRITTEN in written.metadata:
                    self._joined(written, [one for one in nodes if one is not written], it)

    def _joined(self, written: Any, others: list[Any], it: Operation) -> None:
        """Report a value if the call that has overwritten it has computed another one of it, and did not make it."""
        label, former = label_of(written), written.next_functions[0][0]
        made = None if former is None else label_of(former)
        if label is None or made is None or made.place.key == label.place.key or _is_never_negative(former):
            return
        for way in nodes_below(others):
            below = [one for one, _ in way.node.next_functions]
            if written in below and way.label is not None and way.label.place.key == label.place.key:
                fields = {"block": label.place, "op": bare(label.op)}
                self._found[it.place.key] = Seen(SkipOverwritten, it.place, fields)

    def seen(self) -> Iterator[Seen]:
        """Yield the sums."""
        yield from self._found.values()


def _is_never_negative(node: Any) -> bool:
    """Return whether an operation gives no negative value, so that a rectifier changes none."""
    return is_made_by(node, traits.NEVER_NEGATIVE, _KEEPS, _FAR)
