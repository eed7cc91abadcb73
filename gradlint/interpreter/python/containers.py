"""Lists, dicts, sets, deques: indexing and methods. What is stored keeps its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import libcst as cst

from gradlint.domain.announcement import ContainerCopied, Stored
from gradlint.domain.likeness import origin_of_data
from gradlint.domain.state import State
from gradlint.domain.value import USED_UP, Args, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.python.counters import any_of, has_graph, place_of
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.python.literals import is_key, unshown
from gradlint.interpreter.reachable import shown_key
from gradlint.interpreter.torch.parameters import are_trained_alike


class Written(NamedTuple):
    """What was written last to a place of a list that is not known, under a symbol for the index."""

    place: Value
    value: Value


def get_item(machine: Machine, state: State, obj: Value, index: Value, node: cst.CSTNode) -> Value:
    """container[index]"""
    if type(obj) is tuple or isinstance(obj, str):
        return _from_items(machine, state, obj, Sequence(tuple(obj)), index, node)
    assert isinstance(obj, Ref)
    record = state[obj]
    if isinstance(record, Sequence):
        return _from_items(machine, state, obj, record, index, node)
    assert isinstance(record, Mapping)
    if is_key(index) and index in record.items:
        return record.items[index]
    if record.rest is not None:
        return record.rest
    if not is_key(index):
        _open(state, record.items.values())
    if isinstance(index, Unknown) and not record.open and record.items:
        # Any of the values: what is done to one of several tensors may be done to each, and of objects of one sort
        # the first stands for them.
        first, *others = record.items.values()
        if others and any(isinstance(one, Ref) and isinstance(state[one], Tensor) for one in (first, *others)):
            return any_of(machine, state, (first, *others), node)
        alike = all(_sort(state, one) == _sort(state, first) for one in others)
        if isinstance(first, Ref) and alike and are_trained_alike(state, (first, *others)):
            return first
    if record.items and all(origin_of_data(one) is not None for one in record.items.values()):
        return next(iter(record.items.values()))  # As `{name: part.to(device) for name, part in batch.items()}`.
    return machine.symbol("item", obj, index if is_key(index) or isinstance(index, Unknown) else id(index))


def _from_items(machine: Machine, state: State, obj: Value, record: Sequence, index: Value, node: cst.CSTNode) -> Value:
    items = record.items
    place = place_of(index)
    if place is not None and -len(items) <= place < len(items):
        return unshown(items[place]) if record.open and place < 0 else items[place]
    # A tuple is not written to; one of slices has no hash.
    written = state.facts.get(("at", obj)) if isinstance(obj, Ref) else None
    if isinstance(written, Written) and (written.place is index or (type(index) is int and written.place == index)):
        return written.value  # The same symbol is the same place.
    if isinstance(index, int):
        if type(obj) is tuple:
            machine.lost.append(state)  # Python raises.
            return Unknown("raised")
        if not record.open or not items:
            return Unknown()
        return any_of(machine, state, items, node) if has_graph(state, items[-1]) else unshown(items[-1])
    if isinstance(index, slice):
        parts = (index.start, index.stop, index.step)
        if index.step == 0:
            return Unknown("raised")
        if all(part is None or isinstance(part, int) for part in parts) and not record.open:
            chosen = items[index]
            return chosen if type(obj) is tuple else state.new(Sequence(chosen, record.kind))
        start, step = index.start or 0, index.step or 1
        if isinstance(start, int) and isinstance(step, int) and start >= 0 and step > 0:
            rest = items[start::step]
            if rest or not record.open:
                return state.new(Sequence(rest, record.kind, True))
            return state.new(Sequence(tuple(map(unshown, items)), record.kind, True))
        part = items if _are_alike(state, items) else (any_of(machine, state, items, node),)
        return state.new(Sequence(tuple(map(unshown, part)), record.kind, True))
    if items and isinstance(index, Unknown):
        first = items[0]
        _open(state, items)
        if has_graph(state, first):
            return any_of(machine, state, items, node)
        alike = isinstance(first, Ref) and are_trained_alike(state, items)
        return first if alike else machine.symbol("item", obj, index)
    return Unknown()


def _open(state: State, items: Iterable[Value], depth: int = 2) -> None:
    """Let lists and dictionaries have more items than are known: any of them may be given one now."""
    for ref in items:
        record = state.heap.get(ref.id) if isinstance(ref, Ref) else None
        if isinstance(ref, Ref) and isinstance(record, (Sequence, Mapping)):
            state.put(ref.id, record._replace(open=True))
            if depth:
                _open(state, record.items if isinstance(record, Sequence) else record.items.values(), depth - 1)


def _are_alike(state: State, items: tuple[Value, ...]) -> bool:
    """Return whether any of the items can stand for the others: no sizes, or no types, tell them apart."""
    return len({_sort(state, item) for item in items}) <= 1


def _sort(state: State, item: Value) -> tuple[object, ...]:
    record = state.heap.get(item.id) if isinstance(item, Ref) else None
    if isinstance(record, Tensor):
        return record.shape, record.dtype
    return (type(item) if record is None else type(record),)


def set_item(
    machine: Machine, state: State, obj: Ref, index: Value, value: Value, node: cst.CSTNode | None = None
) -> None:
    """container[index] = value"""
    record = state[obj]
    if node is not None:
        machine.announce(state, Stored(node, obj, value))
    if isinstance(record, Mapping):
        if is_key(index):
            state.put(obj.id, record._replace(items={**record.items, index: value}))
        else:
            # The same symbol is the same key; another one may be.
            items = {**record.items, ("symbol", index if isinstance(index, Unknown) else len(record.items)): value}
            state.put(obj.id, record._replace(items=items, open=True))
    elif isinstance(record, Sequence):
        if isinstance(index, int) and -len(record.items) <= index < len(record.items):
            items_list = list(record.items)
            items_list[index] = value
            state.put(obj.id, record._replace(items=tuple(items_list)))
        else:
            # Any of the items may be the one that is replaced.
            kept = (Unknown(),) * len(record.items)
            state.put(obj.id, record._replace(items=(*kept, value), open=True))
            state.decide(("at", obj), Written(index, value))


def call_method(machine: Machine, state: State, obj: Ref, name: str, args: Args, node: cst.CSTNode) -> Value:
    """container.name(args)"""
    method = (_SEQUENCE if isinstance(state[obj], Sequence) else _MAPPING).get(name)
    return Unknown() if method is None else method(machine, state, obj, args, node)


def _append(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Sequence)
    if args.positional:
        machine.announce(state, Stored(node, obj, args.positional[0]))
        items = record.items + args.positional[:1]
        if record.kind == "deque" and record.most is not None:
            items = items[-record.most :] if record.most else ()
        state.put(obj.id, record._replace(items=items))
    return None


def _reordered(change: Callable[[tuple[Value, ...], Args], tuple[Value, ...]]) -> Method:
    def run(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(obj, Sequence)
        state.put(obj.id, record._replace(items=change(record.items, args)))
        return None

    return run


def _insert(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Sequence)
    at, value = args.get(0, "index"), args.get(1, "object")
    machine.announce(state, Stored(node, obj, value))
    if isinstance(at, int):
        items = list(record.items)
        items.insert(max(-len(items), min(at, len(items))), value)
        state.put(obj.id, record._replace(items=tuple(items)))
    else:
        state.put(obj.id, record._replace(items=(*record.items, value), open=True))
    return None


def _extend(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    added = items_of(machine, state, args.get(0, "iterable"), node)
    for value in added.items:
        machine.announce(state, Stored(node, obj, value))
    record = state.at(obj, Sequence)
    state.put(obj.id, record._replace(items=record.items + added.items, open=record.open or added.open))
    return None


def _pop(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Sequence)
    at = args.get(0, "index", -1)
    if not record.items:
        return Unknown()
    if isinstance(at, int) and -len(record.items) <= at < len(record.items):
        items = list(record.items)
        value = items.pop(at)
        if not record.open:
            state.put(obj.id, record._replace(items=tuple(items)))
        return value
    return Unknown()


def _clear(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state[obj]
    state.put(obj.id, Sequence((), record.kind) if isinstance(record, Sequence) else Mapping({}))
    return None


def _copy(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    copied = state.new(state[obj])
    machine.announce(state, ContainerCopied(node, obj, copied))
    return copied


def _remove(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Sequence)
    state.put(obj.id, Sequence((Unknown(),), record.kind, True))
    return None


def _next(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Sequence)
    if record.kind in USED_UP and record.items:
        state.put(obj.id, record._replace(items=record.items[1:]))
    return record.items[0] if record.items else Unknown()


def _get(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record, key = state.at(obj, Mapping), args.get(0, "key")
    if is_key(key):
        if key in record.items:
            return record.items[key]
        if not record.open:
            return args.get(1, "default")
    return Unknown()


def _set_default(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record, key = state.at(obj, Mapping), args.get(0, "key")
    if is_key(key) and key not in record.items:
        set_item(machine, state, obj, key, args.get(1, "default"))
    return get_item(machine, state, obj, key, node)


def _dict_pop(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record, key = state.at(obj, Mapping), args.get(0, "key")
    if is_key(key) and key in record.items:
        items = {name: value for name, value in record.items.items() if name != key}
        state.put(obj.id, record._replace(items=items))
        return record.items[key]
    return args.get(1, "default") if not record.open and is_key(key) else Unknown()


def _update(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    record = state.at(obj, Mapping)
    pairs = machine.program.pairs(state, args.positional[0]) if args.positional else {}
    items: dict[Any, Value] = {**record.items, **(pairs or {}), **args.keywords}
    state.put(obj.id, record._replace(items=items, open=record.open or pairs is None))
    return None


def _listing(part: Callable[[dict[Any, Value]], Iterable[Value]]) -> Method:
    def run(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(obj, Mapping)
        return state.new(Sequence(tuple(part(record.items)), open=record.open))

    return run


def _set_by_method(machine: Machine, state: State, obj: Ref, args: Args, node: cst.CSTNode) -> Value:
    """obj.__setitem__(key, value), as lambdas have to write it."""
    set_item(machine, state, obj, args.get(0, "key"), args.get(1, "value"))
    return None


_SEQUENCE: dict[str, Method] = {
    "__setitem__": _set_by_method,
    "append": _append,
    "add": _append,
    "appendleft": _reordered(lambda items, args: args.positional[:1] + items),
    "insert": _insert,
    "extend": _extend,
    "update": _extend,
    "pop": _pop,
    "popleft": lambda machine, state, obj, args, node: _pop(machine, state, obj, Args((0,)), node),
    "clear": _clear,
    "copy": _copy,
    "reverse": _reordered(lambda items, args: items[::-1]),
    "sort": _reordered(lambda items, args: items),
    "remove": _remove,
    "discard": _remove,
    "__next__": _next,
}

_MAPPING: dict[str, Method] = {
    "__setitem__": _set_by_method,
    "get": _get,
    "setdefault": _set_default,
    "pop": _dict_pop,
    "update": _update,
    "clear": _clear,
    "copy": _copy,
    "keys": _listing(lambda items: map(shown_key, items)),
    "values": _listing(dict.values),
    "items": _listing(lambda items: ((shown_key(key), value) for key, value in items.items())),
}
