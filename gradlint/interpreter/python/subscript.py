"""obj[index]: reading and writing."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.escape import escape, fill_attributes, origins
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.classes import find_method, items_in_order
from gradlint.interpreter.python.containers import get_item, set_item
from gradlint.interpreter.python.kinds import refuses_index
from gradlint.interpreter.python.literals import is_key
from gradlint.interpreter.python.operators import shares_memory
from gradlint.interpreter.torch.index import index_tensor, write_tensor
from gradlint.interpreter.torch.legacy_calls import refuses_number_index
from gradlint.interpreter.torch.module import index_module, replace_module
from gradlint.interpreter.torch.state_dicts import taken_item
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.interpreter.world.placeholders import taken_by_use
from gradlint.source.core import Item, SetItem


def item(machine: Machine, state: State, instr: Item) -> None:
    """dest = obj[index]"""
    obj, index = machine.read(state, instr.obj), machine.read(state, instr.index)
    state.set(instr.dest, read_item(machine, state, obj, index, instr.node))


def read_item(machine: Machine, state: State, obj: Value, index: Value, node: cst.CSTNode) -> Value:
    """obj[index], for any value."""
    if type(obj) is tuple or isinstance(obj, str):
        return get_item(machine, state, obj, index, node)
    tensor = known_tensor(machine, state, obj)
    if tensor is not None:
        return index_tensor(machine, state, tensor, index, node)
    if type(obj) is not Unknown and refuses_index(machine, state, obj, node):
        return Unknown("raised")
    if isinstance(obj, Ref):
        record = state[obj]
        if isinstance(record, Mapping) and record.factory is not None and is_key(index) and index not in record.items:
            set_item(machine, state, obj, index, machine.call(state, record.factory, Args(), node))
            record = state[obj]
        if isinstance(record, Mapping) and (taken := taken_item(state, obj, record, index, node)) is not None:
            return taken
        if isinstance(record, (Sequence, Mapping)):
            return get_item(machine, state, obj, index, node)
        named = items_in_order(state, record) if isinstance(record, Instance) else None
        if named is not None:
            return get_item(machine, state, named, index, node)
        if isinstance(record, Instance):
            method = find_method(state, obj, "__getitem__")
            if method is not None:
                return machine.call(state, method, Args((index,)), node)
            return index_module(machine, state, obj, record, index)
    if isinstance(obj, Unknown):
        if _is_number(machine, state, obj, index, node):
            return Unknown("number", obj.origin, None, node)
        kept = state.facts.get(("at", obj, index)) if is_key(index) else None
        if isinstance(kept, (Ref, Unknown)):
            return kept
        shown = taken_by_use(machine, state, obj, node) if is_key(index) else obj
        if shown is not obj:
            _keep(state, obj, index, shown)
            return shown
        if obj.origin is not None:
            read = Unknown(obj.kind if obj.kind == "array" else None, obj.origin, None, node)
            if is_key(index):
                _keep(state, obj, index, read)  # What is done to it is seen where it is read again.
            return read
        if obj.key is not None and obj.key[0] == "array":
            return Unknown("array", None, ("array", None, obj.key[2], node), node)
        return machine.symbol("item", obj, index, kind="array" if obj.kind == "array" else None)
    return machine.symbol("item", obj, index)


def _keep(state: State, obj: Unknown, index: Value, value: Value) -> None:
    """Remember an item of something unknown, for who reads it again, and for who looks into what holds it."""
    others = state.facts.get(("items", obj), ())
    assert isinstance(others, tuple)
    state.facts = {**state.facts, ("at", obj, index): value, ("items", obj): (*others, value)}


def _is_number(machine: Machine, state: State, obj: Unknown, index: Value, node: cst.CSTNode) -> bool:
    """loss.data.numpy()[0]: the array of a tensor without dimensions has no items either."""
    shared = obj.key[1] if obj.key is not None and obj.key[0] == "memory" else None
    record = state.heap.get(shared.id) if isinstance(shared, Ref) else None
    return isinstance(record, Tensor) and refuses_number_index(machine, state, record, index, node, array=True)


def write_item(machine: Machine, state: State, instr: SetItem) -> None:
    """obj[index] = value"""
    obj, index = machine.read(state, instr.obj), machine.read(state, instr.index)
    value = machine.read(state, instr.value)
    tensor = known_tensor(machine, state, obj)
    if isinstance(obj, Unknown) and tensor is None:
        shares_memory(state, obj, "index assignment", instr.node)
        fill_attributes(machine, state, obj, value)
        if is_key(index):
            # Others may read it there; the same name gives it back.
            escape(machine, state, (value,), instr.node)
            _keep(state, obj, index, value)
        if obj.origin is not None and not isinstance(index, str) and any(one.live for one in origins(state, (value,))):
            # Data that a tensor with a graph is written into may have it, too; it may as well be a list.
            for name in [name for name, value in state.locals.items() if value is obj]:
                state.set(name, Unknown(syntax=instr.node))
    if tensor is not None:
        write_tensor(machine, state, tensor, index, value, instr.node)
    elif isinstance(obj, Ref):
        record = state[obj]
        if isinstance(record, (Sequence, Mapping)):
            set_item(machine, state, obj, index, value, instr.node)
        elif isinstance(record, Instance):
            method = find_method(state, obj, "__setitem__")
            if method is not None:
                machine.call(state, method, Args((index, value)), instr.node)
            else:
                replace_module(machine, state, obj, record, index, value, instr.node)


simple(Item, item)
simple(SetItem, write_item)
