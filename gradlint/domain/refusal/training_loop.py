"""Refusals in the training loop."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from gradlint.domain.event import Refusal


class ScalerOutOfOrder(Refusal):
    """A `GradScaler` is called twice for the same optimizer before `update`, or updated before it was used.

    Or it has to divide gradients of half precision, "half".
    """

    kind: Literal["unscaled twice", "unscaled after step", "stepped twice", "updated first", "half"]


class ClosureMissing(Refusal):
    """`step()` of an optimizer that evaluates the loss again is given no function to do so.

    Or the `closure` returns None in place of the loss.
    """

    closure: cst.CSTNode | None = None


class ClosureIsValue(Refusal):
    """`step` is given a number or a tensor in place of a function."""


class GradModeNotCalled(Refusal):
    """A class such as `torch.no_grad`, of the path `mode`, stands in a `with` without a call."""

    mode: str
