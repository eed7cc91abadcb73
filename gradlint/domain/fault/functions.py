"""Faults of custom functions of autograd."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Fault
from gradlint.domain.refusal.functions import Nontensor
from gradlint.domain.shape import Dim


class FunctionNonstatic(Fault):
    """A custom function that is applied has a `method` that is not static."""

    method: str


class TensorKeptOnCtx(Fault):
    """A custom function keeps an input or a result as the attribute `name` of `ctx`, which is set at the node.

    `result`: it is a result. `others` are the attributes that do so, too, and were set before. `owner` is the class.
    `listed`: it is an item of a list or tuple.
    """

    name: str
    result: bool
    others: tuple[str, ...]
    owner: cst.CSTNode | None
    listed: bool = False


class MarkDirtyMissing(Fault):
    """`forward` writes to an input in place, and does not mark it dirty."""


class SavedIntermediate(Fault):
    """What is saved for backward is neither an input nor a result."""


class GradientCount(Fault):
    """A backward returns so many gradients, where `forward` is given another number of arguments."""

    got: int
    wanted: int


Misfit: TypeAlias = Literal["kind", "unwanted", "shape", "complex"]


class GradientMismatch(Fault):
    """A backward returns, at a position, a gradient that torch does not take.

    `misfit`: it is of a `kind` that is no tensor, it belongs to an argument that is no tensor, its shape `got` is not
    that of the argument, `wanted`, or it is complex where the argument is real.
    """

    position: int
    misfit: Misfit
    kind: Nontensor | None = None
    got: tuple[Dim, ...] | None = None
    wanted: tuple[Dim, ...] | None = None


class GradientIgnored(Fault):
    """A backward returns gradients that do not depend on those that arrive; `scalar`: these may be of one element.

    `nothing`: it computes something, and returns nothing.
    """

    scalar: bool
    nothing: bool = False


class GradientWrong(Fault):
    """A backward returns another gradient than the derivative of what forward computes.

    Where the argument at the position is `point`, its derivative is `wanted`, and the gradient is `got` times the one
    that arrives. `masks`: the gradient that arrives decides where it is zero, and the argument does not. `forward`: it
    is `jvp` that returns another tangent, of the tangent of that argument.
    """

    position: int
    point: float
    wanted: float
    got: float
    masks: bool
    forward: bool = False


class GradientInplace(Fault):
    """A backward, or a `hook` that it runs, writes to a gradient that arrives, by `op`."""

    op: str
    hook: bool = False
