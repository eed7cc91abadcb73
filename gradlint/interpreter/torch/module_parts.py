"""Parts of modules by position or path: inserting and deleting them, counting, `get_submodule`."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch.parameters import DICTS, LISTS, is_module, module_base, parts


def fill_container(
    machine: Machine, state: State, ref: Ref, record: Instance, path: str, args: Args, node: cst.CSTNode
) -> None:
    """What the constructor of a list, a dictionary or a sequence of modules registers."""
    attrs = dict(record.attrs)
    is_open = args.open
    values = args.positional
    if path in DICTS or (len(values) == 1 and isinstance(values[0], Ref) and isinstance(state[values[0]], Mapping)):
        pairs = machine.program.pairs(state, values[0]) if values else {}
        is_open = is_open or pairs is None
        attrs.update({str(name): value for name, value in (pairs or {}).items()})
    else:
        if path != "torch.nn.Sequential" and values:
            items = items_of(machine, state, values[0], node)
            values, is_open = items.items, is_open or items.open
        # Of a list of unknown length the items that are known are in it, at whatever places.
        hidden = [one for one in args.hidden if is_module(state, one)] if path == "torch.nn.Sequential" else []
        attrs.update({str(position): value for position, value in enumerate((*values, *hidden))})
    state.put(ref.id, record._replace(attrs=attrs, open=record.open or is_open))


def count_parts(state: State, record: Instance) -> int | None:
    """len(container)"""
    return len(parts(record)) if module_base(state, record) in LISTS | DICTS and not record.open else None


def delete_part(state: State, ref: Ref, record: Instance, index: Value) -> None:
    """del container[index]: what stands behind moves up."""
    if module_base(state, record) not in LISTS | DICTS:
        return
    names = list(parts(record))
    if isinstance(index, int) and -len(names) <= index < len(names) and not record.open:
        index = names[index]
    if isinstance(index, str) and index in record.attrs:
        kept = {name: value for name, value in record.attrs.items() if name != index}
        state.put(ref.id, record._replace(attrs=_renumbered(kept)))
    else:
        state.put(ref.id, record._replace(open=True))


def _renumbered(attrs: dict[str, Value]) -> dict[str, Value]:
    """Numbers count from 0 again; names stay."""
    fresh: dict[str, Value] = {}
    for name, value in attrs.items():
        fresh[str(len(fresh)) if name.isdigit() else name] = value
    return fresh


def insert_part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """container.insert(index, module)"""
    record = state[ref]
    assert isinstance(record, Instance)
    index, value = args.get(0, "index"), args.get(1, "module")
    names = list(parts(record))
    if not isinstance(index, int) or record.open or not all(name.isdigit() for name in names):
        state.put(ref.id, record.with_unnamed(value))
        return ref
    values = [record.attrs[name] for name in names]
    values.insert(index, value)
    state.put(ref.id, record._replace(attrs={str(at): one for at, one in enumerate(values)}))
    return ref


def get_part(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """module.get_submodule("a.0.b") and get_parameter: a part by its path."""
    path = args.get(0, "target")
    if not isinstance(path, str):
        return machine.symbol("part", ref, path)
    value: Value = ref
    for name in path.split(".") if path else ():
        record = state.heap.get(value.id) if isinstance(value, Ref) and is_module(state, value) else None
        if not isinstance(record, Instance) or name not in record.attrs:
            return machine.symbol("part", ref, path)
        value = record.attrs[name]
    return value
