"""Refusals of `nn.Module`."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from gradlint.domain.event import Refusal


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
