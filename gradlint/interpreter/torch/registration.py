"""What torch refuses when parts are registered in a module: their names, and what they are.

Measured with torch 2.13 (torch/nn/modules/module.py): a name is a text that is not empty, has no dot, and is not that
of another attribute.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.state import State
from gradlint.domain.value import Args, Function, Instance, Ref, Tensor, Value
from gradlint.facts.names import MODULE, names_of
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.parameters import modules_of
from gradlint.interpreter.torch.tensor import is_of_torch, nontensor

Part: TypeAlias = Literal["parameter", "buffer", "module"]

_CALLS = {"parameter": "register_parameter", "buffer": "register_buffer", "module": "add_module"}
_GIVEN = {"parameter": "param", "buffer": "tensor", "module": "module"}


def refuses_part(machine: Machine, state: State, ref: Ref, kind: Part, args: Args, node: cst.CSTNode) -> bool:
    """Report a part that a module does not take, or its name; return True where torch raises."""
    if args.open:
        return False
    name, value = args.get(0, "name"), args.get(1, _GIVEN[kind])
    place = (node, state.site, "registered")
    text = _wrong_name(state, state.at(ref, Instance), kind, name)
    about = "name"
    if text is None:
        text, about = _wrong_part(state, kind, value), _GIVEN[kind]
    if text is None:
        machine.passes(place)
        return False
    machine.emit(ArgumentRefused(node, f"torch.nn.Module.{_CALLS[kind]}", "value", about, text), place)
    return True


def _wrong_name(state: State, record: Instance, kind: Part, name: Value) -> str | None:
    if isinstance(name, (int, float)):
        return f"{kind} name should be a string"
    if not isinstance(name, str):
        return None
    if name == "" or "." in name:
        return f"""{kind} name can't {'contain "."' if name else 'be empty string ""'}"""
    held = record.attrs.get(name)
    other = held is not None and _kind_of(state, held) not in (kind, None)
    return f"attribute '{name}' already exists" if other or name in (names_of(MODULE) or ()) else None


def _kind_of(state: State, held: Value) -> Part | Literal["other"] | None:
    """Return as what a module holds an attribute; None for a tensor, which may be a buffer, and what is not known."""
    record = state.heap.get(held.id) if isinstance(held, Ref) else None
    if isinstance(record, Tensor):
        return "parameter" if record.parameter and is_of_torch(record) else None
    if isinstance(held, Ref) and isinstance(record, Instance) and any(True for _ in modules_of(state, held)):
        return "module"
    return "other" if isinstance(held, (bool, int, float, str, Function)) else None


def _wrong_part(state: State, kind: Part, value: Value) -> str | None:
    """Return what torch says of a part of another kind."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if kind == "module":
        is_other = isinstance(record, Tensor) or isinstance(value, (bool, int, float, str))
        return "it is not a Module" if is_other else None
    if nontensor(state, value) is not None:
        return f"it is not a {'Parameter' if kind == 'parameter' else 'tensor'}, and not None"
    # Of what is computed of a parameter, `parameter_registered` says more.
    plain = isinstance(record, Tensor) and not record.parameter and record.grad is False and is_of_torch(record)
    return "it is not a Parameter, and not None" if kind == "parameter" and plain else None
