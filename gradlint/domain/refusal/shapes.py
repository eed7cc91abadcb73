"""Refusals of tensors for their sizes and element types."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Refusal
from gradlint.domain.shape import Dim

Demand: TypeAlias = Literal[
    "broadcast", "equal", "target", "number", "product", "letters", "batch", "rank", "features", "channels", "kernel",
    "normalized", "ranks", "joined", "elements", "expanded", "dimension", "permuted", "indices", "index", "square",
    "mask", "said",
]  # fmt: skip
"""What the sizes break: that shapes broadcast or are equal, that columns meet rows, that the rank is a certain one."""


class ShapeMismatch(Refusal):
    """An operation gets tensors of shapes that it does not take together.

    `shapes` are those at odds, made at `made`; `wanted` the sizes that the operation demands, if it has any; `said` the
    end of a sentence about them, for a demand that only one operation makes.
    """

    op: str
    demand: Demand
    shapes: tuple[tuple[Dim, ...], ...]
    wanted: tuple[Dim, ...] = ()
    made: tuple[cst.CSTNode | None, ...] = ()
    said: str = ""


class ElementTypeRefused(Refusal):
    """An operation gets a tensor of a type `got` that it does not take as its `argument`, made at `made`.

    `result`: in place, the type of what it computes, which a tensor of the type `got` cannot hold.
    """

    op: str
    argument: str
    got: str
    result: str = ""
    made: cst.CSTNode | None = None
