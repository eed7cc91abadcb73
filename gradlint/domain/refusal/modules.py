"""Refusals of `nn.Module`."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from gradlint.domain.event import Refusal


@dataclass(frozen=True)
class SuperInitMissing(Refusal):
    """A module is used before `nn.Module.__init__` has run; `init` is the constructor of its class."""

    init: cst.CSTNode | None


@dataclass(frozen=True)
class ParameterOverwritten(Refusal):
    """A plain tensor is assigned to the parameter `name` of a module; `made` is where the parameter was made."""

    name: str
    made: cst.CSTNode | None


@dataclass(frozen=True)
class ChildOverwritten(Refusal):
    """What is no module is assigned to the child module `name`."""

    name: str


@dataclass(frozen=True)
class NoParameterRegistered(Refusal):
    """`register_parameter` is given what was computed from the parameter that was made at `made`."""

    made: cst.CSTNode
