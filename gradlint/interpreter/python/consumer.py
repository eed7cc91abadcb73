"""Who takes what a generator yields."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from gradlint.domain.graph import Site
from gradlint.domain.state import GradMode, State
from gradlint.domain.value import Unknown, Value

if TYPE_CHECKING:
    from gradlint.interpreter.machine import Machine

ConsumerStep: TypeAlias = "Callable[[list[State], list[Value]], list[State]]"

_numbers = count()


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who runs at each `yield`: in which frame, and how. Ways out of what it runs carry its number past the body."""

    frame: int
    site: Site
    mode: GradMode
    in_own_file: bool
    step: ConsumerStep
    number: int = field(default_factory=_numbers.__next__)

    def out(self, kind: str) -> str:
        """Return a way out that is the consumer's, not the generator's."""
        return f"{kind}@{self.number}"

    def take(self, machine: Machine, states: list[State], items: list[Value]) -> list[State]:
        """Run a step in the consumer's own file. What leaves it leaves the generator as well."""
        first_exit = len(machine.exits)
        with machine.in_own_file() if self.in_own_file else nullcontext():
            live = self.step(states, items)
        for position in range(first_exit, len(machine.exits)):
            exit = machine.exits[position]
            if "@" not in exit.kind:
                machine.exits[position] = exit._replace(kind=self.out(exit.kind))
        return live

    def take_unknown(self, machine: Machine, state: State) -> list[State]:
        """Run a step with an item that is not known, of a generator that is not followed and may disable grad mode."""
        return where_grad_may_be_off(machine, lambda: self.take(machine, [state], [Unknown()]))


def where_grad_may_be_off(machine: Machine, run: Callable[[], list[State]]) -> list[State]:
    """Run what stands in a context that is not known: it may disable grad mode."""
    events = len(machine.events)
    after = run()
    inside = [event.where_grad_may_be_off() for event in machine.events[events:]]
    machine.events[events:] = [event for event in inside if event is not None]
    return after
