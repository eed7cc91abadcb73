"""Refusals of what is asked of a tensor: its flag, its data, its numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import libcst as cst

from gradlint.domain.event import Event, Refusal


class TruthOfMany(Refusal):
    """The truth of a tensor of other than one element is asked; `gradient`: it is the gradient of a leaf.

    `number`: not its truth, but its value as a number of Python.
    """

    gradient: bool
    number: bool = False


class NumberIndexed(Refusal):
    """A tensor without dimensions is indexed, or the array of one."""

    array: bool


class NumpyOnGrad(Refusal):
    """A tensor that requires grad, made at `made`, is to become a numpy array.

    `uncalled`: the function that nobody calls in which it is, and which may be meant for callers that switch grad
    mode off. `in_context`: it is in a context that is not known. `always`: it is refused with grad mode off as well.
    """

    made: cst.CSTNode | None
    always: bool = False
    uncalled: str = ""
    in_context: bool = False

    @property
    def may_be_off(self) -> bool:
        """Whether grad mode may be off around it."""
        return not self.always and (bool(self.uncalled) or self.in_context)

    def in_uncalled(self, name: str, *, method: bool) -> Event:
        """Return the refusal marked as one that the callers may have ruled out."""
        return replace(self, uncalled=name)

    def where_grad_may_be_off(self) -> Event:
        """Return the refusal marked as one in a context that is not known."""
        return replace(self, in_context=True)


class DetachedView(Refusal):
    """`detach_()` of a view."""


class Resized(Refusal):
    """A tensor that requires grad is resized in place."""


class FlagOnNonleaf(Refusal):
    """The flag of a result is changed; it was made at `made`, and `spelled` is how the flag is written."""

    spelled: str
    made: cst.CSTNode | None


class IntegerRequiresGrad(Refusal):
    """A tensor of integers is to require grad; `dtype` is its type, where it is known."""

    dtype: str | None


class FlagCalled(Refusal):
    """`x.requires_grad(True)`: the flag is a bool, which Python does not call."""


class DataIncompatible(Refusal):
    """What is assigned to `.data` has other storage or another kind of type, or is no tensor."""


class GradientMismatch(Refusal):
    """What is assigned to `.grad` does not fit its tensor; `itself`: it is that tensor."""

    itself: bool = False


class DeepcopiedNonleaf(Refusal):
    """A result is deep-copied, which was made at `made`. `alone`: by itself, not as a part of something."""

    made: cst.CSTNode | None
    alone: bool


class NoDerivative(Refusal):
    """An operation gets an input that requires grad, for which it has no derivative."""

    op: str


class SparseUnsupported(Refusal):
    """A sparse tensor is asked for what it does not give, by `op`.

    "operation": the operation is not implemented for sparse tensors. "uncoalesced": the tensor is not coalesced.
    "dense": the operation has the sparse tensor at another place, or another kind of operand beside it.
    """

    op: str
    reason: Literal["operation", "uncoalesced", "dense"]


class AttributeFixed(Refusal):
    """An attribute `name` of a tensor is deleted, or set, with which torch does not let that be done.

    "leaf": only leaves have the attribute, and this is none.
    """

    name: str
    done: Literal["deleted", "set", "leaf"] = "deleted"


class TensorForNumber(Refusal):
    """An operation gets a tensor that requires grad as the argument `name`, where it takes a number."""

    op: str
    name: str
