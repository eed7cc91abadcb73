"""Generators: their bodies run between the steps of their consumers.

A call makes a `Suspended` generator. A loop over it runs the body, and at each `yield` an iteration; a `with`
statement runs its block there (`contextlib.contextmanager`); whatever wants all items at once has it run to its end.
"""

from __future__ import annotations

import libcst as cst

from gradlint.domain.announcement import GraphsShared
from gradlint.domain.state import State
from gradlint.domain.value import Pending, Ref, Sequence, Suspended, Unknown, Value
from gradlint.interpreter.escape import escape, origins
from gradlint.interpreter.machine import Exit, Machine, splitting
from gradlint.interpreter.python.calls import RESULT, run_body, settle, suspended_at
from gradlint.interpreter.python.consume import take
from gradlint.interpreter.python.consumer import Consumer, ConsumerStep
from gradlint.interpreter.python.contexts import leave_mode
from gradlint.interpreter.python.iteration import items_of
from gradlint.source.core import With, Yield

_PENDING = "pending exit"
"""A variable that no program can name: how a `with` block was left whose context manager is yet to finish."""


def drive(
    machine: Machine, state: State, ref: Ref, step: ConsumerStep
) -> tuple[list[tuple[State, Value]], list[State]]:
    """Run a generator and with a consumer step at each `yield`: the states after its end, and those that broke out."""
    generator = suspended_at(state, ref)
    assert generator is not None
    mode = state.grad, state.inference, state.blocked
    consumer = Consumer(state.frame, state.site, mode, machine.foreign_limit is None, step)
    state.put(ref.id, Sequence((), "generator", True))
    first_exit = len(machine.exits)
    ended = _run(machine, state, generator, consumer)
    for end, _ in ended:
        end.put(ref.id, Sequence((), "generator", False, 0))
    broken: list[State] = []
    for position in range(len(machine.exits) - 1, first_exit - 1, -1):
        exit = machine.exits[position]
        kind, _, number = exit.kind.partition("@")
        if number == str(consumer.number):
            machine.exits[position] = exit._replace(kind=kind)
            if kind == "break":
                broken.append(exit.state)
                del machine.exits[position]
    return ended, broken[::-1]


def _run(machine: Machine, state: State, generator: Suspended, consumer: Consumer) -> list[tuple[State, Value]]:
    return run_body(machine, state, generator.function, generator.args, generator.node, consumer)


def run_yield(machine: Machine, states: list[State], instr: Yield) -> list[State]:
    """yield: the consumer takes a step; where all items are wanted at once, they are collected."""
    consumer = machine.consumers.get(states[0].frame)
    if consumer is None:
        for state in states:
            _collect(machine, state, instr)
        return states
    if instr.star:
        return [end for state in states for end in _delegate(machine, state, consumer, instr)]
    live = _resume(machine, states, [machine.read(state, instr.value) for state in states], consumer)
    for state in live:
        state.set(instr.dest, None)
    return live


def _resume(machine: Machine, states: list[State], items: list[Value], consumer: Consumer) -> list[State]:
    """Run a step of the consumer in its own frame, and go back to the generator."""
    frame, site = states[0].frame, states[0].site
    function = states[0].function
    decorated = function is not None and bool(function.modes)
    inner = (states[0].grad, states[0].inference, states[0].blocked)
    for state in states:
        if decorated:
            leave_mode(state, consumer.mode)  # A decorator, unlike a block, is left at each `yield`.
        state.leave(consumer.frame)
        state.site = consumer.site
    code = machine.stack.pop()
    try:
        live = take(machine, consumer, states, items)
    finally:
        machine.stack.append(code)
    for state in live:
        state.leave(frame)
        state.site = site
        if decorated:
            leave_mode(state, inner)
    return live


def _delegate(machine: Machine, state: State, consumer: Consumer, instr: Yield) -> list[State]:
    """yield from"""
    value = machine.read(state, instr.value)
    inner = suspended_at(state, value)
    if inner is not None and isinstance(value, Ref):
        state.put(value.id, Sequence((), "generator", True, 0))
        ended = _run(machine, state, inner, consumer)
        for end, result in ended:
            end.set(instr.dest, result)
        return [end for end, _ in ended]
    items = items_of(machine, state, value, instr.node)
    given = items.items[:2] if items.open or len(items.items) > 8 else items.items
    escape(machine, state, items.items[len(given) :], instr.node)
    live = [state]
    for item in given or (Unknown(),):
        live = _resume(machine, live, [item] * len(live), consumer) if live else live
    for end in live:
        end.set(instr.dest, None)
    return live


def _collect(machine: Machine, state: State, instr: Yield) -> None:
    value = machine.read(state, instr.value)
    machine.announce(state, GraphsShared(instr.node, origins(state, (value,))))
    frame = state.frames[state.frame]
    yields = frame.yields or state.new(Sequence((), "iterator"))
    state.frames[state.frame] = frame._replace(yields=yields)
    record = state.at(yields, Sequence)
    added = items_of(machine, state, value, instr.node) if instr.star else Sequence((value,))
    state.put(yields.id, record._replace(items=record.items + added.items, open=record.open or added.open))
    state.set(instr.dest, Unknown())


# Consumers other than loops.


def lazy_items(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Sequence:
    """Return what `zip` and its like iterate over; of a generator that runs in between, no graph is known."""
    items = items_of(machine, state, value, node)
    if suspended_at(state, value) is None or not any(one.live for one in origins(state, items.items)):
        return items
    escape(machine, state, items.items, node)
    return Sequence((), open=True)


def first_item(machine: Machine, state: State, ref: Ref) -> Value:
    """next(generator): the body runs to its first `yield`; how it goes on from there is not known."""

    def step(states: list[State], items: list[Value]) -> list[State]:
        for one, item in zip(states, items, strict=True):
            one.set(RESULT, item)
            machine.exits.append(Exit("break", one))
        return []

    def run() -> list[tuple[State, Value]]:
        return [(one, one.locals[RESULT]) for one in drive(machine, state, ref, step)[1]]

    value = settle(machine, state, run)
    state.drop(RESULT)
    return value


def _goes_past(exit: Exit) -> bool:
    """Return whether an exit leaves out the rest of a context manager: it is raised, or it is not the block's own."""
    return exit.kind == "raise" or "@" in exit.kind


def run_with(machine: Machine, state: State, ref: Ref, instr: With) -> list[State]:
    """Run a context manager written as a generator: the block stands for its `yield`."""

    def step(states: list[State], items: list[Value]) -> list[State]:
        first_exit = len(machine.exits)
        for one, item in zip(states, items, strict=True):
            one.set(instr.dest, item)
        live = machine.run(instr.body, states)
        left = machine.exits[first_exit:]
        machine.exits[first_exit:] = [exit for exit in left if _goes_past(exit)]
        for exit in left:
            if not _goes_past(exit):
                exit.state.set(_PENDING, exit.state.new(Pending(exit.kind, exit.value)))
                live.append(exit.state)
        return live

    ended, _ = drive(machine, state, ref, step)
    after: list[State] = []
    for end, _ in ended:
        pending = end.locals.get(_PENDING)
        record = end.heap.get(pending.id) if isinstance(pending, Ref) else None
        if isinstance(record, Pending):
            end.drop(_PENDING)
            machine.exits.append(Exit(record.kind, end, record.value))
        else:
            after.append(end)
    return after


splitting(Yield, run_yield)
