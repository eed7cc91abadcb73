"""What modules refuse to load: names that are not theirs, and tensors of other sizes.

Measured with torch 2.13 (`load_state_dict` and `_load_from_state_dict` in torch/nn/modules/module.py).
"""

from __future__ import annotations

from collections.abc import Mapping as Table
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.otherwise import may_be_another
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base
from gradlint.interpreter.torch.module_parts import place_of
from gradlint.interpreter.torch.parameters import modules_of, parameters_of
from gradlint.interpreter.torch.reparametrized import way_of
from gradlint.interpreter.torch.tensor import UNINITIALIZED, is_of_torch, nontensor, same_memory, tensor_at
from gradlint.shapes.misfit import differ

_OWN = ("state_dict", "load_state_dict", "_load_from_state_dict", "_save_to_state_dict", "get_extra_state")
"""Methods by which a class says itself what is saved and loaded."""


class TakenFrom(NamedTuple):
    """The key of the module whose `state_dict` a dictionary is, and of the call that made it."""

    address: int


def note_taken(state: State, made: Ref, module: Ref, node: cst.CSTNode) -> None:
    """Remember the module of a dictionary, for who loads it at once."""
    state.facts = {**state.facts, TakenFrom(made.id): (module, node)}


def taken_item(state: State, taken: Ref, record: Mapping, key: Value, node: cst.CSTNode) -> Ref | None:
    """Return what a `state_dict` holds under the name of a parameter: its memory, without its graph.

    None where anything has been put into the dictionary, or the module is not all in sight.
    """
    source = state.facts.get(TakenFrom(taken.id))
    if not isinstance(source, tuple) or not isinstance(key, str) or record.items or record.rest is not None:
        return None
    module, call = source
    if not isinstance(module, Ref) or not _is_plain(state, module) or not isinstance(call, cst.Call) or call.args:
        return None
    found = next((one for name, one in parameters_of(state, module)[0] if name == key), None)
    if found is None:
        return None
    parameter = tensor_at(state, found)
    made = Node("detach", node, [Edge(parameter.node, False, "detach")], cut="detach")
    return same_memory(state, parameter, made, parameter.tags)


def refuses_load(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> bool:
    """Report a dictionary that does not belong to a module made in sight; return True where torch raises."""
    text = None if args.open else _mismatch(machine, state, ref, args, node)
    place = (node, state.site, "loaded")
    if text is None:
        machine.passes(place)
        return False
    machine.emit(ArgumentRefused(node, "torch.nn.Module.load_state_dict", "value", "state_dict", text), place)
    return True


def _mismatch(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> str | None:
    given = args.get(0, "state_dict")
    if not isinstance(given, Ref) or not _is_plain(state, ref) or not isinstance(node, cst.Call):
        return None
    source = state.facts.get(TakenFrom(given.id))
    strict = args.get(1, "strict", True) is True
    if isinstance(source, tuple) and any(arg.value is source[1] for arg in node.args):
        other = source[0]  # Loaded at once: later, anyone may have changed it.
        if not isinstance(other, Ref) or not _is_plain(state, other):
            return None
        found, is_open = parameters_of(state, other)
        return _compared(state, ref, {name: tensor_at(state, one).shape for name, one in found}, other, is_open, strict)
    record = state.heap.get(given.id)
    if not isinstance(record, Mapping) or not all(isinstance(key, str) for key in record.items):
        return None
    own = {name for name, _ in parameters_of(state, ref)[0]}
    wrong = (key for key, value in record.items.items() if key in own and nontensor(state, value) is not None)
    if (name := next(wrong, None)) is not None:
        return f'While copying the parameter named "{name}", expected torch.Tensor or Tensor-like object'
    names = {str(key): _shape(state, value) for key, value in record.items.items()}
    return _compared(state, ref, names, None, record.open, strict)


def _shape(state: State, value: Value) -> Shape:
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return record.shape if isinstance(record, Tensor) and is_of_torch(record) else None


def _is_plain(state: State, ref: Ref) -> bool:
    """Return whether all of a module is in sight, made here, and saved and loaded as torch does."""
    root = state.heap.get(ref.id)
    if not isinstance(root, Instance) or not isinstance(root.syntax, cst.Call) or may_be_another(state, ref):
        return False
    for _, record in modules_of(state, ref):
        if record.module.foreign or record.module.loose or record.module.torn is not None:
            return False
        if any(way_of(value) is not None for value in record.attrs.values()):
            return False
        if has_unknown_base(state, record.cls):
            return False
        if any(find_in_class(state, record.cls, name) is not None for name in _OWN):
            return False
    return True


def _compared(
    state: State, ref: Ref, names: Table[str, Shape], other: Ref | None, is_open: bool, strict: bool
) -> str | None:
    """Return what torch says of the first tensor that is of another size, missing, or of nobody."""
    own, more = parameters_of(state, ref)
    for name, one in own:
        record, shape = tensor_at(state, one), names.get(name)
        if UNINITIALIZED in record.tags or not record.shape or shape is None:
            continue
        if len(shape) != len(record.shape) or any(map(differ, shape, record.shape)):
            return f"size mismatch for {name}"
    if not strict:
        return None
    missing = (name for name, _ in own if name not in names and (other is None or place_of(state, other, name) is None))
    first = None if is_open else next(missing, None)
    if first is not None:
        return f'Missing key(s) in state_dict: "{first}"'
    unexpected = (name for name in names if place_of(state, ref, name) is None)
    first = None if more else next(unexpected, None)
    return None if first is None else f'Unexpected key(s) in state_dict: "{first}"'
