"""Simple statements: what makes tuples, lists, dicts and strings, fills or empties them, or discards a value."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import Assigned, Discarded, LoopVariableRebound, Stored
from gradlint.domain.size import is_work
from gradlint.domain.state import State
from gradlint.domain.value import Args, External, Instance, Mapping, Ref, Sequence, Unknown, Value
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.attribute import delete_attribute
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch.module_parts import delete_part
from gradlint.source.core import Append, Copy, Delete, Discard, Format, Make, MakeDict, MakeSlice, Rebind, StoreOuter


def copy(machine: Machine, state: State, instr: Copy) -> None:
    """dest = src"""
    value = machine.read(state, instr.src)
    if type(value) is Ref and type(instr.dest) is str:
        machine.announce(state, Assigned(instr.node, value))
    state.set(instr.dest, value)


def make(machine: Machine, state: State, instr: Make) -> None:
    """Make a tuple, list, set or iterator of items."""
    items: list[Value] = []
    is_open = False
    for star, operand in instr.items:
        value = machine.read(state, operand)
        if star:
            more = items_of(machine, state, value, instr.node)
            items.extend(more.items)
            is_open = is_open or more.open
        else:
            items.append(unshown(value) if is_open else value)  # Behind what is not known, its place is not, either.
    if instr.kind == "tuple" and not is_open:
        state.set(instr.dest, tuple(items))
    else:
        state.set(instr.dest, state.new(Sequence(tuple(items), instr.kind, is_open)))


def make_dict(machine: Machine, state: State, instr: MakeDict) -> None:
    """Make a dict of pairs; unknown keys leave it open."""
    items: dict[Value, Value] = {}
    is_open = False
    for key, operand in instr.pairs:
        value = machine.read(state, operand)
        if key is None:
            pairs = machine.program.pairs(state, value)
            is_open = is_open or pairs is None
            items.update(pairs or {})
            continue
        name = machine.read(state, key)
        if is_key(name):
            items[name] = value
        else:
            is_open = True
            items[("symbol", len(items))] = value
    state.set(instr.dest, state.new(Mapping(items, is_open)))


def is_key(value: Value) -> bool:
    """Return whether a value is a constant that a dict of ours can have as key."""
    return isinstance(value, (str, int, float, bool, bytes, type(None), External, Ref)) or (
        type(value) is tuple and all(map(is_key, value))
    )


def unshown(value: Value) -> Value:
    """Return what stands for an item that is not shown, given one that is: a constant says nothing of the others."""
    return Unknown() if value is None or isinstance(value, (int, float, str, bytes, tuple)) else value


def make_slice(machine: Machine, state: State, instr: MakeSlice) -> None:
    """start:stop:step"""
    start, stop, step = (machine.read(state, part) for part in instr.parts)
    state.set(instr.dest, slice(start, stop, step))


def format_string(machine: Machine, state: State, instr: Format) -> None:
    """Make an f-string, known where all its parts are whole numbers and texts."""
    parts = [machine.read(state, part) for part in instr.parts]
    known = all(type(part) in (str, int) for part in parts)
    state.set(instr.dest, "".join(map(str, parts)) if known else Unknown("str"))


def append(machine: Machine, state: State, instr: Append) -> None:
    """Add an item to the accumulator of a comprehension."""
    target = machine.read(state, instr.target)
    assert isinstance(target, Ref)
    record = state[target]
    value = machine.read(state, instr.value)
    machine.announce(state, Stored(instr.node, target, value))
    if isinstance(record, Sequence):
        state.put(target.id, record._replace(items=(*record.items, value)))
        return
    assert isinstance(record, Mapping) and instr.key is not None
    key = machine.read(state, instr.key)
    if is_key(key):
        state.put(target.id, record._replace(items={**record.items, key: value}))
    else:
        items = {**record.items, ("symbol", len(record.items)): value}
        state.put(target.id, Mapping(items, True))


def store_outer(machine: Machine, state: State, instr: StoreOuter) -> None:
    """global, nonlocal"""
    value = machine.read(state, instr.src)
    target = state.frame
    while (outer := state.frames[target].outer) is not None:
        target = outer
        if not instr.to_global and instr.name in state.frames[target].names:
            break
    state.set_in(target, instr.name, value)


def delete(machine: Machine, state: State, instr: Delete) -> None:
    """del"""
    if instr.obj is None:
        assert instr.name is not None
        state.drop(instr.name)
        return
    target = machine.read(state, instr.obj)
    if instr.name is not None:
        delete_attribute(machine, state, target, instr.name, instr.node)
        return
    if not isinstance(target, Ref):
        return
    record = state[target]
    if isinstance(record, Instance) and instr.index is not None:
        delete_part(state, target, record, machine.read(state, instr.index))
    elif isinstance(record, Mapping) and instr.index is not None:
        key = machine.read(state, instr.index)
        if is_key(key) and key in record.items:
            items = {name: value for name, value in record.items.items() if name != key}
            state.put(target.id, record._replace(items=items))
        else:
            state.put(target.id, Mapping({}, True))
    elif isinstance(record, Sequence):
        index = None if instr.index is None else machine.read(state, instr.index)
        state.put(target.id, _without(record, index))


def _without(record: Sequence, index: Value) -> Sequence:
    """Return a list without an item; where it is not known which one is gone, none is certain to be left."""
    if index == slice(None, None, None):
        return Sequence((), record.kind)
    if isinstance(index, int) and not record.open and -len(record.items) <= index < len(record.items):
        items = list(record.items)
        del items[index]
        return record._replace(items=tuple(items))
    return Sequence((Unknown(),), record.kind, True)


def rebind(machine: Machine, state: State, instr: Rebind) -> None:
    """Announce a dead store to the variable of a loop."""
    former, value = machine.read(state, instr.name), machine.read(state, instr.value)
    machine.announce(state, LoopVariableRebound(instr.node, former, value))


def discard(machine: Machine, state: State, instr: Discard) -> None:
    """Announce an attribute that a statement names, or compares, and does not use."""
    value = machine.read(state, instr.value if instr.subject is None else instr.subject)
    machine.announce(state, Discarded(instr.node, value))


def to_text(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """str(value)"""
    value = args.get(0, "object", "")
    return str(value) if type(value) in (str, int) else Unknown("str")


def text_method(text: str, name: str, args: Args) -> Value:
    """Call a method of a known text: it is computed of whole numbers and texts."""
    known = all(_is_plain(value) for value in args.values()) and not args.open
    if known and (name in _TESTS or (name in _CHANGES and not is_work(text, (*args.values(),)))):
        try:
            changed: Value = getattr(text, name)(*args.positional, **args.keywords)
            return changed
        except (IndexError, KeyError, ValueError, TypeError):
            return Unknown()  # Python raises here.
    if name in _TESTS:
        return Unknown("bool")
    return Unknown("str") if name not in ("split", "encode", "partition", "find", "count") else Unknown()


def _is_plain(value: Value) -> bool:
    return type(value) in (str, int) or (type(value) is tuple and all(map(_is_plain, value)))


_TESTS = frozenset({"startswith", "endswith", "isdigit", "isupper", "islower"})
_CHANGES = frozenset(
    {
        *("format", "replace", "lower", "upper", "strip", "lstrip", "rstrip", "removeprefix", "removesuffix"),
        *("find", "rfind", "count"),
    }
)

simple(Copy, copy)
simple(Make, make)
simple(MakeDict, make_dict)
simple(MakeSlice, make_slice)
simple(Format, format_string)
simple(Append, append)
simple(StoreOuter, store_outer)
simple(Delete, delete)
simple(Rebind, rebind)
simple(Discard, discard)
