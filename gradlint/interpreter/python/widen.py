"""What is known after a loop of what two iterations were run for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from gradlint.domain.graph import Edge, Node
from gradlint.domain.shape import Shape, Sym
from gradlint.domain.state import PathFact, State, rebound
from gradlint.domain.value import Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.torch.parameters import NAME
from gradlint.source.core import (
    Append,
    Attr,
    Block,
    For,
    If,
    Making,
    Operand,
    SetAttr,
    SetItem,
    Try,
    Unpack,
    While,
    With,
)

Sizes: TypeAlias = "dict[tuple[int, str], set[Shape]]"
"""The shapes of tensors that a loop has made, by the frame or the object, and the variable or attribute, of each."""


def widen(before: State, after: State, former: Sizes | None) -> None:
    """Forget what two iterations computed that another number of them would compute differently.

    Numbers that the loop changed are unknown after it, lists and dicts that it filled may be longer, and sizes are
    unknown in which the last iteration and the `former` one differ. None: the items left out are others than those that
    were seen, so that nothing is known of what they compute.
    """
    for place, ref in _made(before, after):
        record = after.at(ref, Tensor)
        if former is None:
            other = Node("call", record.node.syntax, tracked=None)
            node = Node("either", record.node.syntax, [Edge(record.node, None), Edge(other, None)], tracked=None)
            after.put(ref.id, record._replace(node=node, grad=record.grad or None, shape=None))
        elif former.get(place, set()) - {record.shape}:
            after.put(ref.id, record._replace(shape=_alike((record.shape, *former[place]))))
    frame = after.frame
    if frame in after.dirty_frames and frame in before.frames:
        old = before.frames[frame].names
        for name in list(rebound(after.locals, old)):
            if isinstance(name, str):
                after.set(name, _widened(after.locals[name], old[name]))
    for address in list(after.dirty):
        if address in before.heap:
            _widen_record(before.heap[address], after.heap[address], address, after)
    _forget_facts(before, after)


def open_gathered(state: State, block: Block) -> None:
    """Let what a loop fills have more items: those of iterations that were not run, or of another outcome of a test."""
    for instr in block:
        if type(instr) not in _FILLING:
            continue
        if isinstance(instr, Append):
            _open(state, instr.target, (Sequence, Mapping))
        elif isinstance(instr, SetItem):
            _open(state, instr.obj, (Mapping,))
        elif isinstance(instr, Attr) and instr.name in _GROWING:
            _open(state, instr.obj, (Sequence, Mapping, Instance))
        elif isinstance(instr, If):
            open_gathered(state, instr.then)
            open_gathered(state, instr.orelse)
        elif isinstance(instr, (For, While, With, Try)):
            open_gathered(state, instr.body)


_FILLING = frozenset({Append, SetItem, Attr, If, For, While, With, Try})


def forget_assigned(before: State, state: State, block: Block) -> None:
    """Forget what a loop assigns, if only in iterations that were not run; what it has made is still of that kind."""
    for instr in block:
        if isinstance(instr, SetAttr):
            obj = state.locals.get(instr.obj)  # type: ignore[arg-type]
            record = state.heap.get(obj.id) if isinstance(obj, Ref) else None
            if isinstance(obj, Ref) and isinstance(record, Instance) and instr.name in record.attrs:
                attrs = {**record.attrs, instr.name: _of_any(before, record.attrs[instr.name])}
                state.put(obj.id, record._replace(attrs=attrs))
        elif isinstance(instr, If):
            forget_assigned(before, state, instr.then)
            forget_assigned(before, state, instr.orelse)
        elif isinstance(instr, (For, While, With, Try)):
            forget_assigned(before, state, instr.body)
        for name in instr.dests if isinstance(instr, Unpack) else (instr.dest,) if isinstance(instr, Making) else ():
            if isinstance(name, str) and name in state.locals:
                state.set(name, _of_any(before, state.locals[name]))


def _of_any(before: State, value: Value) -> Value:
    made = isinstance(value, Ref) and value.id not in before.heap
    return value if made or isinstance(value, Unknown) else Unknown()


_Filled: TypeAlias = "Sequence | Mapping | Instance"


def _open(state: State, operand: Operand, kinds: tuple[type[_Filled], ...]) -> None:
    filled = state.locals.get(operand)  # type: ignore[arg-type]
    record = state.heap.get(filled.id) if isinstance(filled, Ref) else None
    if isinstance(filled, Ref) and isinstance(record, (Sequence, Mapping, Instance)) and isinstance(record, kinds):
        state.put(filled.id, record._replace(open=True))


_GROWING = frozenset({
    *("append", "extend", "add", "insert", "update", "setdefault"),
    *("add_module", "register_module", "register_parameter", "register_buffer"),
})  # fmt: skip
"""Methods that add to a list, a set, a dictionary or a module."""


def are_settings(state: State, items: Sequence) -> bool:
    """Return whether items are names, or lists of names and numbers: each may lead to something else."""
    parts = [part for item in items.items for part in (item if type(item) is tuple else (item,))]
    records = [state.heap.get(part.id) for part in parts if isinstance(part, Ref)]
    listed = all(isinstance(one, (Sequence, Mapping)) for one in records)
    return listed and (bool(records) or any(isinstance(part, str) for part in parts))


def sizes(before: State, paths: Iterable[State]) -> Sizes:
    """Return the shapes of the tensors that a loop has made so far."""
    found: Sizes = {}
    for after in paths:
        for place, ref in _made(before, after):
            found.setdefault(place, set()).add(after.at(ref, Tensor).shape)
    return found


def _made(before: State, after: State) -> Iterator[tuple[tuple[int, str], Ref]]:
    """Yield the tensors made since, and where each stands: in a variable, or an attribute of an older object."""
    records = ((address, after.heap.get(address)) for address in after.dirty if address in before.heap)
    held = [(address, record.attrs.items()) for address, record in records if isinstance(record, Instance)]
    for place, values in [(after.frame, after.locals.items()), *held]:
        for name, value in values:
            if not isinstance(value, Ref) or type(name) is not str or value.id in before.heap:
                continue
            if isinstance(after.heap.get(value.id), Tensor):
                yield (place, name), value


def _alike(shapes: tuple[Shape, ...]) -> Shape:
    """Return the sizes in which shapes agree."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes) or len(set(map(len, known))) > 1:
        return None
    return tuple(one[0] if len(set(one)) == 1 else Sym() for one in zip(*known, strict=True))


def _widened(value: Value, old: Value) -> Value:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value != old:
        return Unknown("number")
    return value


def _widen_record(old: object, new: object, address: int, state: State) -> None:
    if isinstance(new, Sequence) and isinstance(old, Sequence):
        former = (*old.items, *new.items[len(old.items) :])
        items = tuple(map(_widened, new.items, former))
        if items != new.items or len(new.items) > len(old.items):
            state.put(address, new._replace(items=items, open=new.open or len(new.items) > len(old.items)))
    elif isinstance(new, Mapping) and isinstance(old, Mapping):
        counted = {key: _widened(value, old.items.get(key)) for key, value in new.items.items()}
        more = new.open or len(new.items) > len(old.items)
        state.put(address, new._replace(items=counted, open=more, rest=_widened(new.rest, old.rest)))
    elif isinstance(new, Instance) and isinstance(old, Instance):
        attrs = {name: _widened(value, old.attrs.get(name)) for name, value in new.attrs.items()}
        state.put(address, new._replace(attrs=attrs))


def _forget_facts(before: State, after: State) -> None:
    """Forget tests made in the loop, which may come out differently in another iteration, but no fact of the path.

    A test of what there was before the loop comes out the same in each.
    """
    facts = {key: fact for key, fact in before.facts.items() if not isinstance(key, PathFact)}
    there: frozenset[Unknown] | None = None
    for key, fact in after.facts.items():
        if isinstance(key, PathFact):
            facts[key] = fact
        elif key not in facts and isinstance(key, (Unknown, tuple)):
            there = _values_of(before) if there is None else there
            if _is_of_name(key) or _is_made_of(key, there):
                facts[key] = fact
    after.facts = facts


def _values_of(state: State) -> frozenset[Unknown]:
    """Return the unknown values of the variables, and of the attributes of the objects that these hold."""
    values = list(state.locals.values())
    for value in state.locals.values():
        record = state.heap.get(value.id) if type(value) is Ref else None
        if isinstance(record, Instance):
            values += record.attrs.values()
    return frozenset(value for value in values if type(value) is Unknown)


def _is_made_of(test: object, values: frozenset[Unknown]) -> bool:
    """Return whether a test is one of these values, or made of them and of constants alone."""
    parts = test
    if isinstance(test, Unknown):
        if test in values:
            return True
        parts = test.key
    if type(parts) is not tuple:
        return False
    made = False
    for part in parts:
        if isinstance(part, (Unknown, tuple)):
            if not _is_made_of(part, values):
                return False
            made = True
        elif type(part) is Ref:
            return False
    return made


def _is_of_name(value: object) -> bool:
    """Return whether a test is one of a parameter's name or dimensions, which are the same in every loop."""
    key = value.key if isinstance(value, Unknown) else None
    return key is not None and (key[0] in (NAME, "ndim") or any(map(_is_of_name, key)))
