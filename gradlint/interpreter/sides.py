"""Open tests, and in a call into another file what may rest on how they come out.

Who calls a function of another file gives it values, and whether a test in it that is open comes out as it must for
what happens there with just these values stands nowhere: it is an assumption of the event. What happens however the
test comes out does not rest on it, nor does what the other file shows by itself (`gradlint.settled.grounded`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.event import Event, Reveal
from gradlint.domain.graph import fresh_number
from gradlint.domain.state import State
from gradlint.source.core import If
from gradlint.source.lower.syntax import code_of

Taken: TypeAlias = "frozenset[tuple[int, bool]]"
"""How open tests have come out, each by the number of its fork."""


@dataclass(slots=True)
class Sides:
    """The open `tests` by the numbers of their forks, and how one cannot come out: `refuted`.

    `entrance` is a number between the forks before this file has run into another one and those since. `met` are the
    events in other files, each with how the tests since had come out.
    """

    entrance: int = 0
    tests: dict[int, If] = field(default_factory=dict)
    refuted: set[tuple[If, bool]] = field(default_factory=set)
    met: list[tuple[Event, Taken]] = field(default_factory=list)

    def enter(self) -> None:
        """Begin a call into another file."""
        self.entrance = fresh_number()

    def meet(self, event: Event, path: State) -> None:
        """Note how the tests since the call have come out on the path of an event; `assume` keeps them with its facts.

        Where two paths were joined, those are gone that came out otherwise on each.
        """
        if not self._is_met(event):
            return
        forks = (one for one in path.facts if type(one) is int and one > self.entrance and one in self.tests)
        self.met.append((event, frozenset((one, path.facts[one] is True) for one in forks)))

    def in_uncalled(self, events: Sequence[Event], name: str, *, method: bool) -> list[Event]:
        """Return events as they are in a function that nobody calls, and keep what was met of each by what it becomes.

        Some do not count there.
        """
        pairs = [(event, event.in_uncalled(name, method=method)) for event in events]
        now = {event: one for event, one in pairs if self._is_met(event)}
        self.met = [(one, taken) for event, taken in self.met if (one := now.get(event, event)) is not None]
        return [one for _, one in pairs if one is not None]

    def resting(self, events: Iterable[Event]) -> list[Event]:
        """Return the events, each with the assumptions that tests come out as they must for it."""
        ways: dict[Event, set[Taken]] = {}
        for event, taken in self.met:
            ways.setdefault(event, set()).add(taken)
        needed = {event: min(without_sides(taken), key=_first) for event, taken in ways.items()}
        return [self._resting(event, needed[event]) if self._is_met(event) else event for event in events]

    @staticmethod
    def _is_met(event: Event) -> bool:
        return event.caller is not None and not isinstance(event, Reveal)

    def _resting(self, event: Event, needed: Taken) -> Event:
        more = [_comes_out(self.tests[one].node, holds) for one, holds in sorted(needed)]
        return replace(event, assumptions=(*event.assumptions, *more)) if more else event


def _comes_out(node: cst.CSTNode, holds: bool) -> Assumption:
    test = getattr(node, "test", node)
    return Assumption("branch", " ".join(code_of(test).split()), str(holds).lower(), test)


def _first(way: Taken) -> tuple[int, list[tuple[int, bool]]]:
    """Return what puts the way of the fewest tests first, and of these that of the earliest."""
    return len(way), sorted(way)


def without_sides(ways: set[Taken]) -> set[Taken]:
    """Return the ways, and those in which a test is left out that comes out either way."""
    every = set(ways)
    waiting = list(ways)
    while waiting:
        way = waiting.pop()
        for number, holds in way:
            rest = way - {(number, holds)}
            if rest not in every and rest | {(number, not holds)} in every:
                every.add(rest)
                waiting.append(rest)
    return every
