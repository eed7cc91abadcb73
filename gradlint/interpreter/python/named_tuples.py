"""`collections.namedtuple`: a class of tuples whose items have names."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Class, External, Instance, Partial, Ref, Sequence, Value
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import annotated_names

MAKER = "collections.<named>"
"""What the class is called by: with its fields first, and what they are to hold."""

NAMED = External("collections.<named tuple>")


def new_class(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """namedtuple(name, fields): further arguments give defaults, which are not followed."""
    fields = _names(state, args.get(1, "field_names"))
    if not fields or args.open or len(args.positional) + len(args.keywords) != 2:
        return machine.unknown()
    return Partial(External(MAKER), (fields,), ())


def _names(state: State, value: Value) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    items = value if type(value) is tuple else record.items if isinstance(record, Sequence) else ()
    return tuple(item for item in items if isinstance(item, str))


def new_tuple(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Return one tuple, with a value for each field."""
    fields, *values = args.positional
    assert type(fields) is tuple
    named = [name for name in fields if isinstance(name, str)]
    given = {**dict(zip(named, values, strict=False)), **args.keywords}
    if args.open or len(values) > len(named) or set(given) != set(named):
        return unknown_call(machine, state, args.values(), node)
    return state.new(Instance(NAMED, {name: given[name] for name in named}, {}, False, node))


def items_in_order(state: State, record: Instance) -> tuple[Value, ...] | None:
    """Return the items of such a tuple, or of an object of a class that is one; None for any other object."""
    if record.cls == NAMED:
        return tuple(record.attrs.values())
    cls = state.heap.get(record.cls.id) if isinstance(record.cls, Ref) else None
    if not isinstance(cls, Class) or _BASE not in cls.order:
        return None
    names = annotated_names(cls)
    # A field with a default may be missing among the attributes.
    return tuple(record.attrs[name] for name in names) if record.attrs.keys() == set(names) else None


_BASE = External("typing.NamedTuple")
