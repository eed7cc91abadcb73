"""What torch refuses to put into an optimizer."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Refusal


class NonleafInOptimizer(Refusal):
    """An optimizer is given the result of an operation, `made`, which does not retain its gradient."""

    made: cst.CSTNode | None


Unfit: TypeAlias = Literal["tensor", "module", "method", "none", "item", "group", "nameless", "set", "dict"]


class UnfitParameters(Refusal):
    """An optimizer is given other things than an iterable of tensors or of groups.

    In its place "tensor": a tensor; "module": a module; "method": a method that is not called; "none": None; "dict": a
    dict with names. In it "item": what is no tensor, of a `kind`. "group": a list or tensor is added in place of a
    group; "nameless": a group has no `params`; "set": they are a set.
    """

    given: Unfit
    kind: str = ""


class GradientLayout(Refusal):
    """An optimizer steps, or a function clips, on a gradient of a layout that it does not take.

    `by` is the class or the function; the gradient is `sparse`, or else dense. `decay`: it is `weight_decay` that does
    not take it. `made` is where the parameter was made.
    """

    by: str
    sparse: bool
    decay: bool
    made: cst.CSTNode | None


class ParameterInTwoGroups(Refusal):
    """A parameter, made at `made`, is in two groups of an optimizer.

    `whole`: the group that is added has none but what the optimizer holds already.
    """

    made: cst.CSTNode | None
    whole: bool = False
