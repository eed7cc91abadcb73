"""Where scenarios are kept: for each class, ways to commit the fault and near misses that are legal.

Which of the two a scenario is only steers the mix; what a program does is for torch to say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from ..program import Program

Scenario = Callable[[Program], None]

FAULTS: dict[str, list[Scenario]] = defaultdict(list)
LEGAL: dict[str, list[Scenario]] = defaultdict(list)


def fault(name: str, times: int = 1) -> Callable[[Scenario], Scenario]:
    """Register a way to commit the fault of a class, drawn `times` as often as others."""

    def register(scenario: Scenario) -> Scenario:
        FAULTS[name] += [scenario] * times
        return scenario

    return register


def legal(name: str, times: int = 1) -> Callable[[Scenario], Scenario]:
    """Register a legal program that looks like the fault of a class."""

    def register(scenario: Scenario) -> Scenario:
        LEGAL[name] += [scenario] * times
        return scenario

    return register
