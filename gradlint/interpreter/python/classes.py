"""Classes of the program and their objects: look-up along the bases, making instances."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.state import Frame, State, fresh_address
from gradlint.domain.value import Args, Bound, Class, External, Function, Instance, Ref, Unknown, Value
from gradlint.facts.names import MODULE, names_of
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, simple, splitting
from gradlint.interpreter.reachable import sequence_at
from gradlint.source.core import MakeClass, MakeFunction


def linear_bases(state: State, cls: Value) -> tuple[Value, ...]:
    """Return the class and its bases in the order of look-up."""
    record = state[cls] if isinstance(cls, Ref) else None
    return (cls, *record.order) if isinstance(record, Class) else (cls,)


def order_of_bases(state: State, bases: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the bases of a class, and theirs, in the order of look-up: Python's merge (C3).

    Where Python refuses the order, the first that is left comes next. After `MOST_BASES` something unknown stands for
    all others.
    """
    bases = tuple(base if isinstance(base, (Ref, External)) else Unknown() for base in bases[:MOST_BASES])
    rows = [linear_bases(state, base) for base in bases] + [bases]
    at = [0] * len(rows)
    later = Counter(base for row in rows for base in row[1:])
    order: dict[Value, None] = {}
    while left := [index for index, row in enumerate(rows) if at[index] < len(row)]:
        if len(order) == MOST_BASES:
            return (*order, Unknown())
        heads = (rows[index][at[index]] for index in left)
        chosen = next((head for head in heads if not later[head]), rows[left[0]][at[left[0]]])
        order[chosen] = None
        for index in left:
            row = rows[index]
            while at[index] < len(row) and row[at[index]] in order:
                at[index] += 1
                if at[index] < len(row):
                    later[row[at[index]]] -= 1
    return tuple(order)


MOST_BASES = 100
"""How many classes are looked at for an attribute: each class that is derived from so many has a copy of the list."""


def class_of_method(state: State, receiver: Value, method: Function) -> Value:
    """Return the class of an object, or base of it, in whose body a method stands, which a decorator has wrapped."""
    record = state[receiver] if isinstance(receiver, Ref) else None
    for base in linear_bases(state, record.cls) if isinstance(record, Instance) else ():
        cls = state[base] if isinstance(base, Ref) else None
        if (
            isinstance(cls, Class)
            and isinstance(cls.code.node, cst.ClassDef)
            and method.code.node in cls.code.node.body.body
        ):
            return base
    return None


def find_in_class(state: State, cls: Value, name: str, after: Value = None) -> Value:
    """Return an attribute of the class or its bases, `after` a class for super().

    None if the program defines none, or not before a class of a library does.
    """
    skipping = after is not None
    order = linear_bases(state, cls)
    for index, base in enumerate(order):
        if skipping:
            skipping = base != after
            if (
                not skipping
                and _is_layer(base)
                and not any(map(_is_layer, order[index + 1 :]))
                and _defines(MODULE, name)
            ):
                return None  # The layer's own base comes next, which the order does not list: `super(nn.Linear, self)`.
            continue
        if isinstance(base, Ref):
            record = state[base]
            if isinstance(record, Class) and name in record.attrs:
                return record.attrs[name]
        elif isinstance(base, External) and _defines(base.path, name):
            return None
    return None


def _is_layer(base: Value) -> bool:
    return isinstance(base, External) and base.path.startswith("torch.nn.")


def _defines(path: str, name: str) -> bool:
    """Return whether a class of a library has an attribute of its own, which hides those of the bases after it."""
    if path.startswith("torch.nn."):
        return name in _OF_EVERY_MODULE or name in (names_of(MODULE) or ())
    return name == "__init__" and path not in _WITHOUT_INIT


_OF_EVERY_MODULE = frozenset({"__init__", "__call__", "__setattr__", "__getattr__", "__delattr__", "__repr__"})
_WITHOUT_INIT = frozenset({"builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"})


def is_unfinished(state: State, args: Args) -> bool:
    """Return whether the object of a method is of a class that leaves methods to subclasses."""
    receiver = args.positional[0] if args.positional else None
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    if not isinstance(record, Instance) or not isinstance(record.cls, Ref):
        return False
    bases = (state.heap.get(base.id) for base in linear_bases(state, record.cls) if isinstance(base, Ref))
    names = {name for base in bases if isinstance(base, Class) for name in base.attrs}
    found = (find_in_class(state, record.cls, name) for name in names)
    return any(isinstance(one, Function) and one.code.is_abstract for one in found)


def is_overridden(state: State, function: Function, args: Args) -> bool:
    """Return whether the class of the object that a method is called on has another one of the name."""
    receiver = args.positional[0] if args.positional else None
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    found = find_in_class(state, record.cls, function.code.name) if isinstance(record, Instance) else None
    return isinstance(found, Function) and found.code is not function.code


def library_base(state: State, cls: Value) -> str | None:
    """Return the library class that an object is of, such as `torch.nn.Module`; None if all are the program's.

    That is the first of torch's among the bases, else the first: `class Encoder(ABC, nn.Module)` is a module.
    """
    known = _library_bases(state, cls)
    return next((path for path in known if path.startswith("torch.")), known[0] if known else None)


def _library_bases(state: State, cls: Value) -> list[str]:
    """Return the bases that libraries define, without those that add nothing to an object."""
    found = [base.path for base in linear_bases(state, cls) if isinstance(base, External)]
    return [path for path in found if path not in _WITHOUT_INIT]


def is_function_class(state: State, cls: Value) -> bool:
    """Return whether a class of the program is a custom function of autograd."""
    return library_base(state, cls) in _FUNCTIONS


_FUNCTIONS = frozenset(
    {"torch.autograd.Function", "torch.autograd.function.Function", "torch.autograd.function.InplaceFunction"}
)


def has_unknown_base(state: State, cls: Value) -> bool:
    """Return whether something that was not seen may define more attributes: also what comes before torch's class."""
    known = _library_bases(state, cls)
    mixed = any(path.startswith("torch.") for path in known) and not known[0].startswith("torch.")
    return mixed or any(not isinstance(base, (Ref, External)) for base in linear_bases(state, cls))


def find_method(state: State, receiver: Ref, name: str) -> Bound | None:
    """Return a method that the program defines for an object."""
    record = state[receiver]
    if isinstance(record, Instance) and isinstance(record.cls, Ref):
        method = find_in_class(state, record.cls, name)
        if isinstance(method, Function):
            return Bound(receiver, method)
    return None


def annotated_names(record: Class) -> dict[str, cst.BaseExpression]:
    """Return the names that a class annotates, in order, and how: fields of a dataclass or of a named tuple."""
    assert isinstance(record.code.node, cst.ClassDef)
    lines = [line for line in record.code.node.body.body if isinstance(line, cst.SimpleStatementLine)]
    annotated = [small for line in lines for small in line.body if isinstance(small, cst.AnnAssign)]
    return {one.target.value: one.annotation.annotation for one in annotated if isinstance(one.target, cst.Name)}


def _members(name: str, bases: tuple[Value, ...], attrs: dict[str, Value]) -> dict[str, Value]:
    """Return the attributes of an enumeration: a member is equal to itself only, and prints as `Color.RED`.

    One that is a text or a number besides is its value.
    """
    values = {key: one for key, one in attrs.items() if not key.startswith("_") and not isinstance(one, Function)}
    plain = set(bases) == {External("enum.Enum")}
    members: dict[str, Value] = {key: f"{name}.{key}" if plain else value for key, value in values.items()}
    return {**attrs, **members, MEMBERS: tuple((value, members[key]) for key, value in values.items())}


def member_of(state: State, cls: Ref, value: Value) -> Value:
    """Color("red"): return the member of an enumeration for its value, or for itself; None where it is not known."""
    pairs = state.at(cls, Class).attrs.get(MEMBERS)
    for pair in pairs if type(pairs) is tuple else ():
        if type(pair) is tuple and any(type(value) is type(one) and value == one for one in pair):
            return pair[1]
    return None


MEMBERS = "_value2member_map_"
"""The attribute of an enumeration that tells its members by their values."""

_ENUMERATIONS = frozenset(External(f"enum.{name}") for name in ("Enum", "IntEnum", "StrEnum"))


def make_function(machine: Machine, state: State, instr: MakeFunction) -> None:
    """def, lambda"""
    defaults = tuple((name, machine.read(state, operand)) for name, operand in instr.defaults.items())
    function = Function(instr.code, machine.program.closure(state), defaults, machine.program.module_of(state))
    if function.module == machine.program.home:
        machine.program.functions.append(function)
    state.set(instr.dest, function)


def decorated(state: State, function: Function) -> Function:
    """Return a function with the grad mode that its decorator puts around it: the one that bears its name now."""
    bound = state.frames[function.frame].names.get(function.code.name) if function.frame in state.frames else None
    return bound if isinstance(bound, Function) and bound.code is function.code else function


def make_class(machine: Machine, states: list[State], instr: MakeClass) -> list[State]:
    """class: the body is run; what it binds are the class's attributes."""
    after: list[State] = []
    for state in states:
        bases = tuple(machine.read(state, base) for base in instr.bases)
        outer = machine.program.closure(state)
        former = state.enter(fresh_address(), Frame({}, outer, of_class=True))
        first_exit = len(machine.exits)
        ends = machine.run(instr.code.body, [state])
        del machine.exits[first_exit:]
        for end in ends[:1]:
            attrs = {name: value for name, value in end.locals.items() if isinstance(name, str) and "." not in name}
            end.leave(former)
            order, module = order_of_bases(end, bases), machine.program.module_of(end)
            if not _ENUMERATIONS.isdisjoint(bases):
                attrs = _members(instr.code.name, bases, attrs)
            record = Class(instr.code.name, bases, attrs, instr.code, module, order)
            ref = end.new(record)
            methods = {name: replace(value, owner=ref) for name, value in attrs.items() if isinstance(value, Function)}
            end.put(ref.id, record._replace(attrs={**attrs, **methods}))
            end.set(instr.dest, ref)
            if module == machine.program.home:
                machine.program.classes.append(ref)
            after.append(end)
    return after


simple(MakeFunction, make_function)
splitting(MakeClass, make_class)


MAKER = "collections.<named>"
"""What the class is called by: with its fields first, and what they are to hold."""

NAMED = External("collections.<named tuple>")


def new_class(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """namedtuple(name, fields): further arguments give defaults, which are not followed."""
    fields = _names(state, args.get(1, "field_names"))
    if not fields or args.open or len(args.positional) + len(args.keywords) != 2:
        return Unknown()
    return values.Partial(External(MAKER), (fields,), ())


def _names(state: State, value: Value) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    record = sequence_at(state, value)
    return tuple(item for item in (record.items if record else ()) if isinstance(item, str))


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
