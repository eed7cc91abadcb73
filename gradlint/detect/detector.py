"""What a detector is: it listens to a machine, keeps the facts it needs, and reports faults.

A detector knows the interpreter's state and no rule. Its facts about the whole run stand in `facts`, a class of its
own; facts about one path belong into `State.facts`, under a key type of the detector, where two paths that differ
forget them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar, cast, get_args

from gradlint.domain.announcement import Listener
from gradlint.domain.event import Event
from gradlint.interpreter.machine import Machine

Facts = TypeVar("Facts")
Other = TypeVar("Other")


class Detector(Listener, Generic[Facts]):
    """One family of faults. `facts` is what it knows of the run so far, at first an empty `Facts()`."""

    facts: Facts
    _begin: Callable[[], Facts]

    def __init_subclass__(cls) -> None:
        """Take the type of the facts from `Detector[...]`."""
        (cls._begin,) = get_args(vars(cls)["__orig_bases__"][0])

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.facts = self._begin()

    def aside(self) -> Facts:
        """Return the facts to begin a run aside with, whose own are dropped: none, unless a detector hands some on."""
        return self._begin()

    def set_aside(self) -> Facts:
        """Exchange the facts for those of a run aside, and return them."""
        former, self.facts = self.facts, self.aside()
        return former

    def resume(self, former: object) -> None:
        """Take back the facts from before the run aside."""
        self.facts = cast(Facts, former)

    def other(self, family: type[Other]) -> Other:
        """Return the detector of another family that listens to the same machine, to ask for its facts."""
        return next(one for one in self.machine.listeners if type(one) is family)

    def report(self, fault: Event, unless: Hashable = None) -> None:
        """Report a fault, unless the program says that it expects to fail here, or some path passes a place."""
        self.machine.emit(fault, unless)
