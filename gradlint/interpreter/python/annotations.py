"""Parameters that no argument is known for: what annotation and default say of them."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import External, Function, Instance, Unknown, Value
from gradlint.interpreter.libraries.accelerate import ENGINES, new_engine
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import unknown_tensor
from gradlint.source.core import Param

_KINDS = {"int": "int", "float": "number", "bool": "bool", "str": "str"}
_TENSORS = frozenset({"torch.Tensor", "torch.FloatTensor", "torch.autograd.Variable"})


def _annotated(machine: Machine, state: State, param: Param) -> Value:
    """Return a value as the annotation describes it; None where it says nothing that we read."""
    annotation = param.annotation
    if annotation is None:
        return None
    if isinstance(annotation, cst.Name) and annotation.value in _KINDS:
        return Unknown(_KINDS[annotation.value], syntax=param.node)
    path = _path(machine, state, annotation)
    if path in _TENSORS:
        return unknown_tensor(state, param.node)
    if path == "torch.nn.Module":
        return state.new(Instance(External("torch.nn.Module"), {}, {}, True, param.node))
    return new_engine(state, path, param.node) if path in ENGINES else None


def _path(machine: Machine, state: State, node: cst.BaseExpression) -> str | None:
    if isinstance(node, cst.Name):
        value = machine.read(state, node.value)
        return value.path if isinstance(value, External) else None
    if isinstance(node, cst.Attribute):
        base = _path(machine, state, node.value)
        return None if base is None else machine.program.external(f"{base}.{node.attr.value}").path
    return None


def parameter(machine: Machine, state: State, function: Function, param: Param) -> Value:
    """Return a parameter that no argument is known for: what annotation and default say of it."""
    value = _annotated(machine, state, param)
    if value is not None:
        return value
    default = dict(function.defaults).get(param.name)
    return Unknown(_OF_DEFAULT.get(type(default)), syntax=param.node)


_OF_DEFAULT = {bool: "bool", int: "number", float: "number", str: "str"}
