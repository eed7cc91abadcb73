"""Refusals of `nn.Module`."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Event, Refusal


class SuperInitMissing(Refusal):
    """A module is used before `nn.Module.__init__` has run; `init` is the constructor of its class."""

    init: cst.CSTNode | None


class ParameterOverwritten(Refusal):
    """A plain tensor is assigned to the parameter `name` of a module; `made` is where the parameter was made."""

    name: str
    made: cst.CSTNode | None


class ContainerWantsList(Refusal):
    """`container` of modules is given what it does not take.

    "several": arguments in place of one list. "one": a module or parameter in place of a list. "list": a list in place
    of several arguments.
    """

    container: str
    given: Literal["several", "one", "list"]


class ChildOverwritten(Refusal):
    """What is no module is assigned to the child module `name`."""

    name: str


class NoParameterRegistered(Refusal):
    """`register_parameter` is given what was computed from the parameter that was made at `made`."""

    made: cst.CSTNode


Unfit: TypeAlias = Literal[
    "missing", "taken", "dtype", "shape", "result", "twice", "unreadable", "absent", "several", "no-inverse",
    "matrix", "map", "amount", "amount-size", "iterations", "pickled",
    "inverse-kind", "inverse-dtype", "inverse-one", "inverse-shape",
]  # fmt: skip
"""Why a tensor of a module cannot be computed from others."""


class ReparametrizationMismatch(Refusal):
    """A function of `torch.nn.utils`, `by`, is to compute the tensor `name` of a module from others, and does not.

    "missing": the module has no such tensor; "taken": another such function computes it. "dtype", "shape": the
    parametrization changes that; "result": it returns no tensor. "twice": the function computes the tensor already;
    "unreadable": so, and the tensor cannot be read any more. "absent": it is to be undone, and was not done; "several":
    it is to be undone down to one of several tensors. "no-inverse": the tensor is assigned to, which needs the inverse
    of the parametrization. "matrix": the tensor has too few dimensions. "map", "amount", "iterations": an argument has
    no valid value; "amount-size": there are not so many elements. "pickled": a module that is parametrized is to be
    written as a whole. "inverse-kind", "inverse-dtype", "inverse-one", "inverse-shape": `right_inverse` gives other
    than tensors, or of another type; that of a further parametrization not one tensor, or of another size.
    """

    reason: Unfit
    by: str
    name: str = ""

    def in_uncalled(self, name: str, *, method: bool) -> Event | None:
        """Return None for what depends on earlier calls: those of a function that nobody calls are not known."""
        return None if self.reason in ("twice", "unreadable", "taken", "absent") else self


class UninitializedUsed(Refusal):
    """A parameter of a lazy module, made at `made`, is used by `op` before a first call has given it a size."""

    op: str
    made: cst.CSTNode | None

    def in_uncalled(self, name: str, *, method: bool) -> Event | None:
        """Return None: whoever calls the function may have called the module."""
        return None
