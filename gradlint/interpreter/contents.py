"""The one walk over the heap, from values to what they hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from gradlint.domain.state import State
from gradlint.domain.value import Bound, Class, Context, Instance, Mapping, Partial, Ref, Sequence, Suspended, Value

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
    stack = [*values]
    stack.reverse()
    while stack:
        value = stack.pop()
        holder: object = value
        if type(value) is Ref:
            if value.id in seen or (skip is not None and skip(value)):
                continue
            seen.add(value.id)
            holder = state.heap.get(value.id)
        yield value
        if type(holder) in _HOLDING:
            stack.extend(reversed(_parts(holder, attributes, calls)))


def sequence_at(state: State, value: Value) -> Sequence | None:
    """Return a tuple or a list, as a record; None for any other value."""
    if type(value) is tuple:
        return Sequence(value)
    record = state.heap.get(value.id) if type(value) is Ref else None
    return record if isinstance(record, Sequence) else None


def known_items(state: State, value: Value) -> tuple[Value, ...] | None:
    """Return the items of a tuple or list of which all are known; None for any other value."""
    record = sequence_at(state, value)
    return None if record is None or record.open else record.items


def items_in(state: State, value: Value) -> Iterator[Value]:
    """Return what a tuple, list or dict holds, at any depth."""
    return islice(contents(state, (value,)), 1, None)


_HOLDING = frozenset({tuple, Sequence, Mapping, Instance, Class, Bound, Partial, Context, Suspended})


def _parts(holder: object, attributes: Attributes | None, calls: bool) -> tuple[Value, ...]:
    """Return what a container, an object or a call holds directly."""
    match holder:
        case Sequence():
            return holder.items
        case Mapping():
            return (*holder.items.values(), holder.rest)
        case Instance():
            return () if attributes is None else tuple(attributes(holder))
        case Bound():
            return (holder.receiver,) if calls else ()
        case Partial():
            return (holder.function, *holder.args) if calls else ()
        case Context():
            return (holder.argument,) if calls else ()
        case Class():
            return tuple(holder.attrs.values()) if calls else ()
        case Suspended(args=args):
            return tuple(args.values()) if calls else ()
        case tuple():
            return holder
        case _:
            return ()
