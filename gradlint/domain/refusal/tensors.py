"""Refusals of what is asked of a tensor: its flag, its data, its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import libcst as cst

from gradlint.domain.event import Event, Refusal


@dataclass(frozen=True)
class NumberIndexed(Refusal):
    """A tensor without dimensions is indexed, or the array of one."""

    array: bool


@dataclass(frozen=True)
class NumpyOnGrad(Refusal):
    """A tensor that requires grad, made at `made`, is to become a numpy array.

    `uncalled`: in a function that nobody calls, which may be meant for callers that switch grad mode off.
    """

    made: cst.CSTNode | None
    uncalled: bool = False

    def in_uncalled(self, *, method: bool) -> Event:
        """Return the refusal marked as one that the callers may have ruled out."""
        return replace(self, uncalled=True)


@dataclass(frozen=True)
class DetachedView(Refusal):
    """`detach_()` of a view."""


@dataclass(frozen=True)
class Resized(Refusal):
    """A tensor that requires grad is resized in place."""


@dataclass(frozen=True)
class FlagOnNonleaf(Refusal):
    """The flag of a result is changed; it was made at `made`, and `spelled` is how the flag is written."""

    spelled: str
    made: cst.CSTNode | None


@dataclass(frozen=True)
class IntegerRequiresGrad(Refusal):
    """A tensor of integers is to require grad; `dtype` is its type, where it is known."""

    dtype: str | None


@dataclass(frozen=True)
class FlagCalled(Refusal):
    """`x.requires_grad(True)`: the flag is a bool, which Python does not call."""


@dataclass(frozen=True)
class DataIncompatible(Refusal):
    """What is assigned to `.data` has other storage or another kind of type, or is no tensor."""


@dataclass(frozen=True)
class GradientMismatch(Refusal):
    """What is assigned to `.grad` does not fit its tensor; `itself`: it is that tensor."""

    itself: bool = False


@dataclass(frozen=True)
class DeepcopiedNonleaf(Refusal):
    """A result is deep-copied, which was made at `made`. `alone`: by itself, not as a part of something."""

    made: cst.CSTNode | None
    alone: bool


@dataclass(frozen=True)
class NoDerivative(Refusal):
    """An operation gets an input that requires grad, for which it has no derivative."""

    op: str
