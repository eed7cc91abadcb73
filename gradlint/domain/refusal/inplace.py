"""Refusals of in-place writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import libcst as cst

from gradlint.domain.event import Event, Refusal
from gradlint.domain.shape import Dim


class RefusedWrite(Refusal):
    """An in-place write that torch refuses at once; subclasses say why.

    `op` is what writes (`+=`, `add_`, `index assignment`), `made` where the tensor, or the base that it is a view of,
    was made, `viewed` where the view was taken. `tracked`: what is written has a graph for certain. `built` is the
    constructor of the module that writes. `held`: an optimizer has the tensor, and what is written has no graph but
    that of the tensor.
    """

    op: str
    made: cst.CSTNode | None = None
    viewed: cst.CSTNode | None = None
    parameter: bool = False
    tracked: bool = False
    built: cst.CSTNode | None = None
    held: bool = False


class _GradOnlyWrite(RefusedWrite):
    """A write that torch refuses only with grad mode on.

    `uncalled` is the method, called by nobody, that writes; `in_context`: it is in a context that is not known.
    """

    uncalled: str = ""
    in_context: bool = False

    @property
    def may_be_off(self) -> bool:
        """Whether grad mode may be off around it."""
        return bool(self.uncalled) or self.in_context

    def in_uncalled(self, name: str, *, method: bool) -> Event | None:
        """Return None for a parameter that a function writes to: whoever calls it must do so under no_grad.

        A method's callers may do so.
        """
        if not self.parameter or name in _RECORDING:
            return self
        return replace(self, uncalled=name) if method else None

    def where_grad_may_be_off(self) -> Event:
        """Return the refusal marked as one in a context that is not known."""
        return replace(self, in_context=True)


_RECORDING = frozenset({"forward", "__call__"})
"""Methods that are called with grad mode on, at least in training."""


class LeafWrite(_GradOnlyWrite):
    """A write to a leaf that requires grad."""


class LeafViewWrite(_GradOnlyWrite):
    """A write to a view of a leaf that requires grad."""


class _RecordedWrite(RefusedWrite):
    """A write that torch refuses only with grad mode on."""

    def where_grad_may_be_off(self) -> Event | None:
        """Return None: with grad mode off torch takes the write."""
        return None


class MultiViewWrite(_RecordedWrite):
    """A write to one of several views that one operation made."""


class OverlapWrite(RefusedWrite):
    """A write to an expanded tensor."""


class PartialOverlap(Refusal):
    """A write in place, by `op`, whose other operand shares a part of the memory that is written."""

    op: str


class NoGradViewWrite(_RecordedWrite):
    """A write, with grad mode on, to a view made with grad mode off."""


class CustomViewWrite(_RecordedWrite):
    """A write to a view that a custom function made."""


class InferenceViewWrite(RefusedWrite):
    """A write to a view made in inference mode."""


class InferenceWrite(RefusedWrite):
    """A write to a tensor made in inference mode; `mode` is the one call that has switched it on."""

    mode: cst.CSTNode | None = None


class UnrebasedView(Refusal):
    """A view that torch does not rebase is used after a write to its base: the node is the write, by `op`.

    It is one of several that one operation made, or was made with grad mode off, or in inference mode.
    """

    op: str
    kind: Literal["multi", "no_grad", "inference"]
    used: cst.CSTNode


class InplaceBroadcast(Refusal):
    """A write of values that do not fit: their shape, broadcast with that of the target, is larger.

    `op` is what writes, `shape` that of the target, `wanted` the larger one; `made` is where the target comes from.
    """

    op: str
    shape: tuple[Dim, ...]
    wanted: tuple[Dim, ...]
    made: cst.CSTNode | None = None


class OutRequiresGrad(Refusal):
    """`out=` in a call of an operation that gets what requires grad."""

    op: str

    def where_grad_may_be_off(self) -> Event | None:
        """Return None: with grad mode off torch writes."""
        return None


class InferenceChange(Refusal):
    """A tensor made in inference mode is changed outside of it, by `out=` or by its flag, or its version is read."""

    by: Literal["out=", "requires_grad_", ".requires_grad", "._version"]
    mode: cst.CSTNode | None = None


class InferenceSaved(Refusal):
    """An operation would save a tensor made in inference mode; `mode` is the one call that has switched it on."""

    op: str
    made: cst.CSTNode | None = None
    mode: cst.CSTNode | None = None

    def where_grad_may_be_off(self) -> Event | None:
        """Return None: with grad mode off nothing is saved."""
        return None
