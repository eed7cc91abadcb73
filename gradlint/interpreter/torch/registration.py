"""What torch refuses when parts are registered in a module: their names, and what they are.

Measured with torch 2.13 (torch/nn/modules/module.py): a name is a text that is not empty, has no dot, and is not that
of another attribute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.otherwise import may_be_another
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.state import State
from gradlint.domain.value import Args, Class, External, Function, Instance, Mapping, Ref, Sequence, Tensor, Value
from gradlint.facts import fact
from gradlint.facts.names import MODULE, names_of
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base
from gradlint.interpreter.torch.parameters import DICTS, LISTS, module_base, modules_of
from gradlint.interpreter.torch.tensor import is_of_torch, nontensor

Part: TypeAlias = Literal["parameter", "buffer", "module"]

_CALLS = {"parameter": "register_parameter", "buffer": "register_buffer", "module": "add_module"}
GIVEN_AS = {"parameter": "param", "buffer": "tensor", "module": "module"}
"""What torch calls the part that is registered."""


def refuses_part(machine: Machine, state: State, ref: Ref, kind: Part, args: Args, node: cst.CSTNode) -> bool:
    """Report a part that a module does not take, or its name; return True where torch raises."""
    if args.open:
        return False
    name, value = args.get(0, "name"), args.get(1, GIVEN_AS[kind])
    place = (node, state.site, "registered")
    text = _wrong_name(state, state.at(ref, Instance), kind, name)
    about = "name"
    if text is None:
        text, about = _wrong_part(state, kind, value), GIVEN_AS[kind]
    if text is None:
        machine.passes(place)
        return False
    machine.emit(ArgumentRefused(node, f"torch.nn.Module.{_CALLS[kind]}", "value", about, text), place)
    return True


def _wrong_name(state: State, record: Instance, kind: Part, name: Value) -> str | None:
    if isinstance(name, (int, float)) or name is None:
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
        return "it is not a Module" if is_no_module(state, value) else None
    if nontensor(state, value) is not None:
        return f"it is not a {'Parameter' if kind == 'parameter' else 'tensor'}, and not None"
    # Of what is computed of a parameter, `parameter_registered` says more.
    plain = isinstance(record, Tensor) and not record.parameter and record.grad is False and is_of_torch(record)
    return "it is not a Parameter, and not None" if kind == "parameter" and plain else None


def is_no_module(state: State, value: Value) -> bool:
    """Return whether a value is certainly neither a module nor None."""
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        return is_of_torch(record) if isinstance(record, Tensor) else isinstance(record, (Sequence, Mapping, Class))
    if isinstance(value, External):  # A function of torch, or the class of a module that was to be made.
        return fact(value.path.removeprefix("torch.")) is not None
    return isinstance(value, (bool, int, float, str, Function)) or type(value) is tuple


MODULE_DICT = "torch.nn.ModuleDict"
MODULES = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", MODULE_DICT})
"""Containers that hold modules only; those of parameters take anything."""

_OWN_NAMES = frozenset({"clear", "items", "keys", "pop", "update", "values"})
"""Methods of a dictionary of modules besides those of every module."""


def refuses_items(
    machine: Machine,
    state: State,
    ref: Ref,
    values: Iterable[Value],
    node: cst.CSTNode,
    keys: Iterable[Value] = (),
) -> bool:
    """Report a part that a container of modules does not take, or its key; return True where torch raises."""
    record = state.at(ref, Instance)
    path = module_base(state, record)
    if path not in MODULES or has_unknown_base(state, record.cls):
        return False
    about, text = "key", next((one for key in keys if (one := _wrong_key(state, record, key))), None)
    if text is None and any(is_no_module(state, value) for value in values):
        about, text = "module", "it is not a Module subclass"
    place = (node, state.site, "items")
    if text is None:
        machine.passes(place)
        return False
    machine.emit(ArgumentRefused(node, path, "value", about, text), place)
    return True


def _wrong_key(state: State, record: Instance, key: Value) -> str | None:
    if isinstance(key, str) and key in _OWN_NAMES:
        return f"attribute '{key}' already exists"
    return _wrong_name(state, record, "module", key)


_WITHOUT_FORWARD = {"torch.nn.Module", *LISTS, *DICTS} - {"torch.nn.Sequential"}


def lacks_forward(machine: Machine, state: State, ref: Ref, record: Instance, node: cst.CSTNode) -> bool:
    """Report a call of a module made in sight whose class has no `forward`; return True where torch raises.

    A bare `nn.Module()` holds the place of what a subclass puts there.
    """
    if record.cls == External("torch.nn.Module") or "forward" in record.attrs:
        return False
    known = module_base(state, record) in _WITHOUT_FORWARD and not record.open and isinstance(record.syntax, cst.Call)
    if not known or record.module.foreign or has_unknown_base(state, record.cls) or may_be_another(state, ref):
        return False
    if any(find_in_class(state, record.cls, name) is not None for name in ("forward", "__call__", "__getattr__")):
        return False
    name = _class_name(state, record.cls)
    machine.emit(
        ArgumentRefused(node, name, "value", "", f'Module [{name}] is missing the required "forward" function')
    )
    return True


def _class_name(state: State, cls: Value) -> str:
    made = state.heap.get(cls.id) if isinstance(cls, Ref) else None
    return made.name if isinstance(made, Class) else cls.path.rpartition(".")[2] if isinstance(cls, External) else ""
