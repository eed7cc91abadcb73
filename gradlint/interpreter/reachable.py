"""What is found by following references: what values hold, and the graphs in places older than a loop.

A place is a variable, an attribute, an item of a dict, or a whole list. A root is a node of the graph, or a value that
is not known and that arithmetic has made of others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Mapped
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

from gradlint.domain import value as values
from gradlint.domain.graph import Node
from gradlint.domain.state import State, rebound
from gradlint.domain.value import Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value

Attributes: TypeAlias = "Callable[[Instance], Iterable[Value]]"
"""Which attributes of an object a walk goes into."""


def all_attributes(record: Instance) -> Iterable[Value]:
    """Go into all attributes of objects."""
    return record.values()


def contents(
    state: State,
    values: Iterable[Value],
    attributes: Attributes | None = None,
    *,
    calls: bool = False,
    skip: Callable[[Ref], bool] | None = None,
) -> Iterator[Value]:
    """Yield values, and what is reached from them through tuples, lists and dicts; what has an address, once.

    `attributes` leads into objects, `calls` into what is bound to be called: receivers, arguments of partials and of
    generators that have not begun, classes. Of what is skipped nothing is yielded.
    """
    seen: set[int] = set()
    opened: set[Value] = set()
    stack = [*values]
    stack.reverse()
    while stack:
        value = stack.pop()
        holder: Any = value
        if type(value) is Ref:
            if value.id in seen or (skip is not None and skip(value)):
                continue
            seen.add(value.id)
            holder = state.heap.get(value.id)
        yield value
        kind = type(holder)
        if kind is Unknown and (kept := state.facts.get(("items", value))) is not None and value not in opened:
            opened.add(value)
            stack.extend(kept)  # type: ignore[arg-type]
        parts = _IN_CONTAINER.get(kind) or (_IN_CALL.get(kind) if calls else None)
        parts = attributes if kind is Instance else parts
        if parts is not None:
            stack.extend([*parts(holder)][::-1])


def sequence_at(state: State, value: Value) -> Sequence | None:
    """Return a tuple or a list, as a record; None for any other value."""
    if type(value) is tuple:
        return Sequence(value)
    record = state.heap.get(value.id) if type(value) is Ref else None
    return record if isinstance(record, Sequence) else None


def shown_key(key: Value) -> Value:
    """Return the key that a dict of ours has: something unknown, where it is not a constant."""
    if type(key) is tuple and len(key) == 2 and key[0] == "symbol":
        return key[1] if isinstance(key[1], Unknown) else Unknown()
    return key


def known_items(state: State, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a tuple or list of which all are known; None for any other value."""
    record = sequence_at(state, value)
    return None if record is None or record.open else record.items


def items_in(state: State, value: Value) -> Iterator[Value]:
    """Return what a tuple, list or dict holds, at any depth."""
    return islice(contents(state, (value,)), 1, None)


_IN_CONTAINER: dict[type, Callable[[Any], Iterable[Value]]] = {
    tuple: tuple,
    Sequence: lambda holder: holder.items,
    Mapping: lambda holder: (*holder.items.values(), holder.rest),
}
_IN_CALL: dict[type, Callable[[Any], Iterable[Value]]] = {
    values.Bound: lambda holder: (holder.receiver,),
    values.Partial: lambda holder: (holder.function, *holder.args),
    values.Context: lambda holder: (holder.argument,),
    values.Class: lambda holder: holder.attrs.values(),
    values.Suspended: lambda holder: holder.args.values(),
}
"""What is held directly, by the type of the holder."""


Root: TypeAlias = "Node | Unknown"
Place: TypeAlias = "tuple[object, ...]"

ARITHMETIC = frozenset({"+", "-", "*", "/"})
"""The operators whose results, over values that are not known, are roots."""

_LARGE = 200
"""How many items a bounded container may hold before its bound is none to speak of."""

MOST_OBJECTS = 100_000
"""How many objects are looked at for the graphs that dropped paths hold; after that, the file counts as not read."""


class Held(NamedTuple):
    """A root in a place, with the value that has it: what a list was given is known by that."""

    root: Root
    value: Value


def held_by(state: State, before: State) -> dict[Place, tuple[Held, ...]]:
    """Return the roots in the places older than the loop that it has changed."""
    found: dict[Place, tuple[Held, ...]] = {}
    for frame in state.dirty_frames:
        old = before.frames.get(frame)
        if old is not None and frame in state.frames:
            names = state.frames[frame].names
            for name in rebound(names, old.names):
                if isinstance(name, str):
                    _hold(found, state, ("name", frame, name), (names[name],))
    for address in state.dirty:
        former = before.heap.get(address)
        if former is not None and state.heap.get(address) is not former:
            _in_record(found, state, address, state.heap.get(address), former)
    return found


def _in_record(
    found: dict[Place, tuple[Held, ...]], state: State, address: int, record: object, former: object
) -> None:
    if isinstance(record, Sequence) and isinstance(former, Sequence):
        if record.most is None or record.most >= _LARGE:
            _hold(found, state, ("items", address), record.items)
    elif isinstance(record, Mapping) and isinstance(former, Mapping):
        for key, value in record.items.items():
            _hold(found, state, ("key", address, key), (value,))
        _hold(found, state, ("items", address), record.items.values())
    elif isinstance(record, Instance) and isinstance(former, Instance):
        for name, value in record.attrs.items():
            if name in former.attrs and value is not former.attrs[name]:
                _hold(found, state, ("attr", address, name), (value,))
    elif isinstance(record, Tensor) and isinstance(former, Tensor) and record.node is not former.node:
        _hold(found, state, ("tensor", address), (Ref(address),))


def _hold(found: dict[Place, tuple[Held, ...]], state: State, place: Place, values: Iterable[Value]) -> None:
    carrying = [value for value in values if type(value) in _CARRYING]
    roots = ((root_of(state, part), value) for value in carrying for part in contents(state, (value,)))
    held = [Held(root, value) for root, value in roots if root is not None]
    if held:
        found[place] = tuple(held)


def is_alive(state: State, address: int) -> bool:
    """Return whether the program still holds an object: a list whose name has been given to a new one keeps nothing."""
    # Temporaries are numbers, and hold what an expression once had as a value.
    named = (value for frame in state.frames.values() for name, value in frame.names.items() if isinstance(name, str))
    yielded = (frame.yields for frame in state.frames.values())
    return Ref(address) in contents(state, (*named, *yielded), all_attributes, calls=True)


def root_of(state: State, value: Value) -> Root | None:
    """Return the root of a tensor or an unknown value: its graph, or the value itself if arithmetic has made it."""
    shown = state.tensor_of(value) if isinstance(value, Unknown) else value
    record = state.heap.get(shown.id) if isinstance(shown, Ref) else None
    if isinstance(record, Tensor):
        return record.node if record.node.tracked is not False else None
    if not isinstance(value, Unknown):
        return None
    if value.origin is not None:
        return value.origin if value.origin.tracked is not False else None
    return value if value.key is not None and value.key[0] in ARITHMETIC else None


def graphs_in(state: State, values: Iterable[Value]) -> Iterator[Node]:
    """Return all graphs in values, in what they hold, and in the modules' globals."""
    return Search().graphs(state, values)


class Search:
    """Looks for the graphs in values, and remembers of each object which of its attributes may hold any.

    `left` is how many objects it may still look at, over all the states that are asked about.
    """

    def __init__(self, left: int = MOST_OBJECTS) -> None:
        self.left = left
        self._carriers: dict[int, tuple[Instance, tuple[Value, ...]]] = {}

    def graphs(self, state: State, values: Iterable[Value]) -> Iterator[Node]:
        """Yield all graphs in values, in what they hold, and in the module's globals."""
        # A frame that nothing encloses is a module's.
        outermost = [frame.names.values() for frame in state.frames.values() if frame.outer is None]
        starts = [value for group in (values, *outermost) for value in group if _may_carry(value, state.heap)]
        for value in contents(state, starts, lambda record: self._carriers_of(record, state.heap)):
            self.left -= 1
            if type(value) is Ref:
                record = state.heap.get(value.id)
                if type(record) is Tensor:
                    yield record.node
            elif type(value) is Unknown and value.origin is not None:
                yield value.origin
            if self.left <= 0:
                break

    def _carriers_of(self, record: Instance, heap: Mapped[int, object]) -> tuple[Value, ...]:
        """Return the attributes that may hold a graph: a parameter is none, whatever becomes of it."""
        known = self._carriers.get(id(record))
        if known is None:
            known = record, tuple(value for value in record.values() if _may_carry(value, heap))
            self._carriers[id(record)] = known
        return known[1]


_CARRYING = frozenset({tuple, Unknown, Ref})


_HOLDERS = frozenset({Instance, Mapping, Sequence})


def _may_carry(value: Value, heap: Mapped[int, object]) -> bool:
    if type(value) is Ref:
        record = heap.get(value.id)
        return not record.parameter if type(record) is Tensor else type(record) in _HOLDERS
    return type(value) is tuple or (type(value) is Unknown and value.origin is not None)
