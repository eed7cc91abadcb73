"""The steps of what consumes a generator, and of the block of a context that is not known."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

from gradlint.domain.state import State
from gradlint.domain.value import Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.consumer import Consumer


def take(machine: Machine, consumer: Consumer, states: list[State], items: list[Value]) -> list[State]:
    """Run a step in the consumer's own file. What leaves it leaves the generator as well."""
    first_exit = len(machine.exits)
    with machine.in_own_file() if consumer.in_own_file else nullcontext():
        live = consumer.step(states, items)
    for position in range(first_exit, len(machine.exits)):
        exit = machine.exits[position]
        if "@" not in exit.kind:
            machine.exits[position] = exit._replace(kind=consumer.out(exit.kind))
    return live


def take_unknown(machine: Machine, consumer: Consumer, state: State) -> list[State]:
    """Run a step with an item that is not known, of a generator that is not followed and may disable grad mode.

    Another generator may have handed its consumer on to that one, by `yield from`.
    """
    frame, site = state.frame, state.site
    state.leave(consumer.frame)
    state.site = consumer.site
    after = where_grad_may_be_off(machine, lambda: take(machine, consumer, [state], [Unknown()]))
    for end in after:
        end.leave(frame)
        end.site = site
    return after


def where_grad_may_be_off(machine: Machine, run: Callable[[], list[State]]) -> list[State]:
    """Run what stands in a context that is not known: it may disable grad mode."""
    events = len(machine.events)
    after = run()
    inside = [event.where_grad_may_be_off() for event in machine.events[events:]]
    machine.events[events:] = [event for event in inside if event is not None]
    return after
