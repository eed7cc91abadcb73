"""Faults of custom functions of autograd."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.event import Fault


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


class GradientIgnored(Fault):
    """A backward returns gradients that do not depend on those that arrive; `scalar`: these may be of one element."""

    scalar: bool


class GradientInplace(Fault):
    """A backward writes to a gradient that arrives, by `op`."""

    op: str
