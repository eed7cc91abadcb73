"""Faults of modules: what they register, what they are called, and in which mode they run."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from gradlint.domain.event import Fault


class ModuleInContainer(Fault):
    """A module calls one that stands in its plain container `name`, where nobody trains it; `made` is where it was."""

    name: str
    made: cst.CSTNode | None
    called: cst.CSTNode


class ParameterInContainer(Fault):
    """A parameter, made at `made`, stands in the plain container `name` of a module, where nobody trains it."""

    name: str
    made: cst.CSTNode


class ParameterMoved(Fault):
    """The attribute `name` of a module is computed from a parameter, made at `made`, that nothing else holds."""

    name: str
    made: cst.CSTNode


class TensorNotParameter(Fault):
    """The attribute `name` of a module is a leaf, made at `made`, that is no parameter, and nobody trains it."""

    name: str
    made: cst.CSTNode


class ModuleBuiltInForward(Fault):
    """A module with weights is made in `forward`, and called there; `random`: its weights are other ones each time."""

    called: cst.CSTNode
    random: bool = True


class WeightMadeInForward(Fault):
    """A tensor that requires grad is made in `forward`, and given to a function as its weight, at `used`."""

    used: cst.CSTNode


class NetworkAlias(Fault):
    """A network gets a second name, and the program copies from `one` name to the `other`, at `apart`.

    Without the names, a parameter is copied to itself, or averaged with itself.
    """

    one: str
    other: str
    apart: cst.CSTNode


class NetworkRepeated(Fault):
    """A list with a network that is made in it is multiplied: `[Net()] * n`."""


class ModuleFlag(Fault):
    """An attribute `name` that torch does not look at is set on a module or a tensor as a flag."""

    name: str
    owner: Literal["module", "tensor"]


class DropoutAlwaysOn(Fault):
    """A method of a module calls a dropout function that does not get the mode of the module, or a layer it has `made`.

    Such a layer is in training mode, whatever the mode of the module.
    """

    made: bool
