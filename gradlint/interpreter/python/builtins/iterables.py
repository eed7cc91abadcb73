"""What iterates over other things: `zip`, `map`, `next`, `sum`, and their like."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import libcst as cst

from gradlint.domain.announcement import Zipped
from gradlint.domain.likeness import origin_of_data
from gradlint.domain.shape import Sym
from gradlint.domain.state import State
from gradlint.domain.value import Args, Instance, Mapping, Ref, Sequence, Tensor, Unknown, Value
from gradlint.facts import method_fact
from gradlint.interpreter.escape import escape, unknown_call
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.branch import truth
from gradlint.interpreter.python.calls import suspended_at
from gradlint.interpreter.python.counters import Last, nth
from gradlint.interpreter.python.generators import first_item, lazy_items
from gradlint.interpreter.python.iteration import items_of, supposed_data
from gradlint.interpreter.python.kinds import refuses_length, refuses_next
from gradlint.interpreter.python.operators import operate, symbolic
from gradlint.interpreter.reachable import sequence_at
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.module_parts import count_parts
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.interpreter.torch.transform.levels import refuses_number, refuses_numbers


def _len(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if type(value := args.get(0, "obj")) is Ref and refuses_length(machine, state, value, node):
        return Unknown("raised")
    return _count(machine, state, args, node)


def _count(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """Return the number of items of what is iterated over, or has a length."""
    value = args.get(0, "obj")
    if type(value) is tuple or isinstance(value, str):
        return len(value)
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, (Sequence, Mapping)) and not record.open:
            return len(record.items)
        if isinstance(record, Tensor) and record.shape:
            size = record.shape[0]
            return size if isinstance(size, int) else machine.symbol("len", value, kind="int")
        count = count_parts(state, record) if isinstance(record, Instance) else None
        if count is not None:
            return count
    return machine.symbol("len", value, kind="int")


def _range(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    parts = args.positional
    if refuses_numbers(machine, state, parts, node):
        return Unknown("raised")
    known = [part for part in parts if isinstance(part, int)]
    if parts and len(known) == len(parts) and known[2:] != [0]:
        numbers = range(*known)
        if not numbers[16:]:  # Such numbers may be more than `len` can say.
            return tuple(numbers)
        upwards = numbers.step > 0 and numbers.start >= 0
        return state.new(Sequence((numbers[0], nth(numbers[1], upwards=upwards)), "list", True))
    start = parts[0] if len(parts) > 1 else 0
    step = parts[2] if len(parts) > 2 else 1
    if isinstance(start, int) and isinstance(step, int):
        last = _last_before(machine, parts[-1], node) if step == 1 and len(parts) < 3 and parts else None
        second = nth(start + step, upwards=start >= 0 and step > 0, last=last)
        return state.new(Sequence((start, second), "list", True))
    return state.new(Sequence((nth(0, upwards=False), nth(1, upwards=False)), "list", True))


def _last_before(machine: Machine, stop: Value, node: cst.CSTNode) -> Last | None:
    """Return the last number before one that is not known."""
    if not isinstance(stop, (Unknown, Sym)):
        return None
    if isinstance(stop, Unknown) and stop.key is not None and stop.key[0] == "+" and stop.key[2] == 1:
        return Last(cast(Value, stop.key[1]), stop)
    return Last(symbolic(machine, "-", stop, 1, node), stop)


def _enumerate(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    iterable, start = args.get(0, "iterable"), args.get(1, "start", 0)
    generator = suspended_at(state, iterable)
    if generator is not None and generator.start is None:
        return state.new(replace(generator, start=start))
    stop = _count(machine, state, args, node)
    iterable = supposed_data(machine, iterable, node)
    items = lazy_items(machine, state, iterable, node)
    if not items.open:
        first = start if isinstance(start, int) else 0
        return state.new(Sequence(tuple((first + i, item) for i, item in enumerate(items.items)), "iterator"))
    known = list(items.items[:2]) or [Unknown()]
    if len(known) < 2:
        known.append(known[0] if not isinstance(known[0], Unknown) else Unknown(None, origin_of_data(iterable)))
    last = _last_before(machine, stop, node) if start == 0 else None
    second = nth(start + 1, upwards=start >= 0, last=last) if isinstance(start, int) else Unknown("int")
    rest = ((Unknown("int"), item) for item in items.items[2:])
    return state.new(Sequence(((start, known[0]), (second, known[1]), *rest), "iterator", True))


def _zip(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    machine.announce(state, Zipped(node, args.positional))
    columns = [lazy_items(machine, state, value, node) for value in args.positional]
    if not columns:
        return state.new(Sequence((), "iterator", args.open))
    exact = [len(column.items) for column in columns if not column.open]
    is_open = not exact or args.open
    length = min(exact) if exact else max(1, min(2, max(len(column.items) for column in columns)))
    rows = tuple(
        tuple(
            column.items[i] if i < len(column.items) else (column.items[-1] if column.items else Unknown())
            for column in columns
        )
        for i in range(length)
    )
    return state.new(Sequence(rows, "iterator", is_open))


def _map(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    if len(args.positional) < 2:
        return Unknown()
    function, first = args.positional[0], args.positional[1]
    items = lazy_items(machine, state, first, node)
    results = [machine.call(state, function, Args((item,)), node) for item in items.items[:8]]
    escape(machine, state, items.items[8:], node)
    return state.new(Sequence(tuple(results), "generator", items.open or len(items.items) > 8))


def _as_list(kind: str) -> Native:
    def build(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        if not args.positional:
            return state.new(Sequence((), kind))
        items = items_of(machine, state, args.positional[0], node)
        if kind == "tuple" and not items.open:
            return items.items
        if items.open and not items.items:
            return unknown_call(machine, state, args.positional, node)
        return state.new(Sequence(items.items, kind, items.open))

    return build


def _reordered(parameter: str, kind: str, step: int) -> Native:
    def run(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        items = items_of(machine, state, args.get(0, parameter), node)
        return state.new(Sequence(items.items[::step], kind, items.open))

    return run


def _reversed(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """reversed(sequence): a tensor gives one that is flipped; what is not known may give something else as well."""
    value, flip = args.get(0, "sequence"), method_fact("flip")
    tensor = known_tensor(machine, state, value)
    if tensor is not None and flip is not None:
        return apply(machine, state, flip, Args((tensor, 0)), node)
    is_known = type(value) is tuple or (isinstance(value, Ref) and isinstance(state[value], Sequence))
    return _reordered("sequence", "iterator" if is_known else "list", -1)(machine, state, args, node)


def _iter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "object")
    if suspended_at(state, value) is not None:
        return value
    items = items_of(machine, state, value, node)
    if items.open and not items.items:
        return machine.symbol("iter", value)
    known = not isinstance(value, Unknown) and not (isinstance(value, Ref) and isinstance(state[value], Instance))
    return state.new(Sequence(items.items, "iterator" if known else "stream", items.open))


def _next(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    value = args.get(0, "iterator")
    if isinstance(value, Ref) and suspended_at(state, value) is not None:
        return first_item(machine, state, value)
    if isinstance(value, Ref) and isinstance(record := state[value], Sequence):
        if not record.items:
            return args.get(1, "default") if args.has(1, "default") else Unknown()
        state.put(value.id, record._replace(items=record.items[1:] or (record.items if record.open else ())))
        return record.items[0]
    if refuses_next(machine, state, value, node):
        return Unknown("raised")
    return Unknown(None, origin_of_data(supposed_data(machine, value, node)), None, node)


def _sum(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items = items_of(machine, state, args.get(0, "iterable"), node)
    total = args.get(1, "start", 0)
    escape(machine, state, items.items[16:], node)
    for item in items.items[:16]:
        total = operate(machine, state, "+", total, item, node)
    if items.open and isinstance(total, (int, float)):
        return Unknown("number" if items.items else None)
    return total


def _extreme(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    values: tuple[Value, ...] = args.positional
    if len(values) == 1:
        values = items_of(machine, state, values[0], node).items
    if machine.transforms and len(values) > 1 and "key" not in args.keywords:
        compared = [ref for one in values if (ref := known_tensor(machine, state, one)) is not None]
        if any(refuses_number(machine, state, ref, "branch", node) for ref in compared):
            return Unknown("raised")
    if values and all(isinstance(value, (int, float)) for value in values) and not args.keywords:
        return Unknown("number")
    return unknown_call(machine, state, values or args.positional, node)


def _all_any(settles: bool) -> Native:
    """all(iterable) is settled by a False, any(iterable) by a True; of a list that may hold more nothing is known."""

    def run(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        value = args.get(0, "iterable")
        if sequence_at(state, value) is None:
            return Unknown("bool")
        items = items_of(machine, state, value, node)
        if items.open:
            return Unknown("bool")
        known = {truth(state, item) for item in items.items}
        if settles in known:
            return settles
        if None in known:
            return machine.symbol("any" if settles else "all", *items.items, kind="bool", syntax=node)
        return not settles

    return run


def _chain(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    items: list[Value] = []
    is_open = args.open
    for value in args.positional:
        part = lazy_items(machine, state, value, node)
        items.extend(part.items)
        is_open = is_open or part.open
    return state.new(Sequence(tuple(items), "iterator", is_open))


def _chain_from(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    outer = items_of(machine, state, args.get(0, "iterable"), node)
    return _chain(machine, state, Args(outer.items, {}, outer.open), node)


def _filter(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    function, iterable = args.get(0, "function"), args.get(1, "iterable")
    items = lazy_items(machine, state, iterable, node)
    kept: list[Value] = []
    is_open = items.open
    for item in items.items[:64]:
        known = truth(state, item if function is None else machine.call(state, function, Args((item,)), node))
        if known is not False:
            kept.append(item)
        if known is None:
            is_open = True
    return state.new(Sequence(tuple(kept), "iterator", is_open))


ITERATING: dict[str, Native] = {
    "builtins.len": _len,
    "builtins.range": _range,
    "builtins.enumerate": _enumerate,
    "builtins.zip": _zip,
    "builtins.map": _map,
    "builtins.filter": _filter,
    **{f"builtins.{kind}": _as_list(kind) for kind in ("list", "tuple", "set")},
    "builtins.frozenset": _as_list("set"),
    "builtins.reversed": _reversed,
    "builtins.sorted": _reordered("iterable", "list", 1),
    "builtins.iter": _iter,
    "builtins.next": _next,
    "builtins.sum": _sum,
    **dict.fromkeys(("builtins.max", "builtins.min"), _extreme),
    "builtins.all": _all_any(False),
    "builtins.any": _all_any(True),
    "tqdm.trange": _range,
    "itertools.chain": _chain,
    "itertools.chain.from_iterable": _chain_from,
}
"""What a call of each of these gives, by path."""
