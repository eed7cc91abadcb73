"""Which judges an operation has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from gradlint.domain.announcement import Operated
from gradlint.domain.event import Fault
from gradlint.domain.state import State

Judge: TypeAlias = "Callable[[State, Operated], Iterator[Fault]]"

JUDGES: dict[str, list[Judge]] = {}
"""Judges by the canonical name of the operation."""


def judges(*names: str) -> Callable[[Judge], Judge]:
    """Register a function as a judge of the named operations."""

    def register(function: Judge) -> Judge:
        for name in names:
            JUDGES.setdefault(name, []).append(function)
        return function

    return register
