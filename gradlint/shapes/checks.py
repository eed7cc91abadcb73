"""Checks of shapes, registered by the operations that refuse them."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from gradlint.domain.refusal.shapes import Demand
from gradlint.domain.shape import Dim
from gradlint.facts.aliases import canonical
from gradlint.shapes.operand import Args


class Misfit(NamedTuple):
    """Shapes that are at odds with one another, or with what is `wanted`: sizes, a rank, or a dimension."""

    demand: Demand
    shapes: tuple[tuple[Dim, ...], ...]
    wanted: tuple[Dim, ...] = ()

    @property
    def of_nothing(self) -> bool:
        """Whether a tensor has no elements: it may hold the place of one that comes later."""
        return any(0 in shape for shape in self.shapes)


Check: TypeAlias = Callable[[Args], Misfit | None]


CHECKS: dict[str, Check] = {}
"""The check of each operation by its canonical name, that of a module by the function it calls."""


def check(*names: str) -> Callable[[Check], Check]:
    """Register a function as the check of the named operations."""

    def register(function: Check) -> Check:
        CHECKS.update(dict.fromkeys(map(canonical, names), function))
        return function

    return register


def differ(one: Dim, other: Dim) -> bool:
    """Return whether two sizes are numbers, and different ones."""
    return isinstance(one, int) and isinstance(other, int) and one != other
