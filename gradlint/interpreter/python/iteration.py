"""What a loop, a star or an unpacking finds in a value."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import Assigned
from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import DATA, SUPPOSED_CALL, Node
from gradlint.domain.state import State
from gradlint.domain.value import (
    USED_UP,
    Args,
    External,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Suspended,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.escape import may_depend_on, origins
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.python.calls import exhaust
from gradlint.interpreter.python.classes import find_method, items_in_order
from gradlint.interpreter.python.kinds import refuses_count, refuses_loop
from gradlint.interpreter.reachable import shown_key
from gradlint.interpreter.torch.data_loader import batches
from gradlint.interpreter.torch.parameters import DICTS, LISTS, module_base, parts
from gradlint.interpreter.torch.tensor import iterate_tensor
from gradlint.interpreter.world import guesses
from gradlint.source.core import Unpack
from gradlint.source.lower.syntax import nodes_of

PART = "part of"
"""The key of an item of something with a graph that is not known: what is done to it is done to the whole."""


def is_used_up(state: State, value: Value) -> bool:
    """Return whether a value is an iterator that has given all it had."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(record, Sequence) and not record.items and not record.open and record.most == 0


def data_of(machine: Machine, source: cst.CSTNode | None, node: cst.CSTNode) -> Node | None:
    """Return the origin of what a loader or a dataset yields, where names say that it is one; it has no graph."""
    if source is None or not machine.assumes or not machine.program.may_backpropagate:
        return None
    named = [one.value for one in nodes_of(source) if type(one) is cst.Name]
    if not guesses.is_data(*named):
        return None
    machine.assume(Assumption("name", next(filter(guesses.is_data, named)), "data, which has no graph", node))
    return Node(DATA, node, tracked=False)


def supposed_data(machine: Machine, value: Value, node: cst.CSTNode) -> Value:
    """Return a loader for what is not known and came under the name of one: `tqdm(loader)`, `loaders[0]`."""
    came = value
    while isinstance(came, Unknown) and came.key is not None and came.key[0] in ("iter", "enter", "item"):
        came = came.key[1] if isinstance(came.key[1], Unknown) else None
    bare = isinstance(came, Unknown) and came.origin is None and came.kind is None
    if bare and isinstance(came, Unknown) and isinstance(came.syntax, cst.Param | cst.Name | cst.Attribute):
        origin = data_of(machine, came.syntax, node)
        return Unknown(None, origin, None, node) if origin is not None else value
    return value


def items_of(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Sequence:
    """Return the items of an iterable. `open`: there may be more, and those shown stand for all."""
    if type(value) is tuple:
        return Sequence(value)
    if isinstance(value, str):
        return Sequence(tuple(value))
    if isinstance(value, Ref):
        return _items_of_record(machine, state, value, node)
    if isinstance(value, Unknown) and value.origin is not None:
        return Sequence((Unknown(None, value.origin, None, node),), open=True)
    return Sequence((), open=True)


def _items_of_record(machine: Machine, state: State, value: Ref, node: cst.CSTNode) -> Sequence:
    record = state[value]
    if isinstance(record, Suspended):
        return exhaust(machine, state, value)
    if isinstance(record, Sequence):
        if record.kind in USED_UP:
            state.put(value.id, Sequence((), record.kind, record.open, 0 if record.items else record.most))
        return record
    if isinstance(record, Mapping):
        return Sequence(tuple(map(shown_key, record.items)), open=record.open)
    if isinstance(record, Tensor):
        refused = refuses_loop(machine, state, value, node)
        return Sequence(()) if refused else iterate_tensor(machine, state, value, node)
    fields = items_in_order(state, record) if isinstance(record, Instance) else None
    if fields is not None:
        return Sequence(fields)
    if isinstance(record, Instance):
        return _items_of_object(machine, state, record, node)
    return Sequence((), open=True)


def _items_of_object(machine: Machine, state: State, record: Instance, node: cst.CSTNode) -> Sequence:
    """Return what a loop over an object finds: the modules of a container, the batches of a loader."""
    base = module_base(state, record)
    if base in (LISTS | DICTS):
        if base in DICTS:
            return Sequence(tuple(name for name in record.attrs), open=record.open)
        return Sequence(tuple(parts(record).values()), open=record.open)
    given = origins(state, record.values()) if isinstance(record.cls, Ref) and base is None else []
    if any(one.live for one in given):
        return Sequence((may_depend_on(given, node),), open=True)
    return batches(machine, state, record, node)


def unpack(machine: Machine, state: State, instr: Unpack) -> None:
    """a, *b, c = value"""
    value = _iterated(machine, state, _several(state, machine.read(state, instr.src)), instr.node)
    dests, star = instr.dests, instr.star
    if refuses_count(machine, state, value, len(dests) - (star >= 0), star >= 0, instr.node):
        machine.lost.append(state)  # Python raises.
        return
    items = items_of(machine, state, value, instr.node)
    known = list(items.items)
    if items.open or (len(known) < len(dests) - (star >= 0)) or (star < 0 and len(known) != len(dests)):
        for position, dest in enumerate(dests):
            state.set(dest, part_of(machine, state, value, position, known))
        return
    if star < 0:
        for dest, item in zip(dests, known, strict=True):
            if type(item) is Ref:
                machine.announce(state, Assigned(instr.node, item))
            state.set(dest, item)
        return
    end = len(known) - (len(dests) - star - 1)
    starred = state.new(Sequence(tuple(known[star:end])))
    for dest, item in zip(dests, (*known[:star], starred, *known[end:]), strict=True):
        state.set(dest, item)


def _iterated(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Value:
    """Return what `__iter__` of an object gives, where its class is one of the program."""
    method = find_method(state, value, "__iter__") if isinstance(value, Ref) else None
    return value if method is None else machine.call(state, method, Args(), node)


def _several(state: State, value: Value) -> Value:
    """Return what is not known in place of what a network that is not shown gives: unpacked, it is no single tensor."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor) and record.node.op.startswith(SUPPOSED_CALL):
        return may_depend_on([edge.node for edge in record.node.edges], record.node.syntax)
    return value


def part_of(machine: Machine, state: State, value: Value, position: int, known: list[Value]) -> Value:
    """Return one item of something not known as a whole."""
    if isinstance(value, Unknown) and value.origin is not None:
        made = value.origin
        if made.op == "call":  # Each result of a call has a graph of its own, or none: a backward is through one.
            made = Node("call", made.syntax, made.edges, tracked=None, cut=made.cut, place=made.place)
        return Unknown(None, made, None, value.syntax)
    if known:
        return known[position] if position < len(known) else Unknown()
    return machine.symbol("item", value, position) if isinstance(value, (Unknown, External)) else Unknown()


simple(Unpack, unpack)
