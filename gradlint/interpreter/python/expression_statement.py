"""Expressions as statements: what a program names and does not use."""

from __future__ import annotations

from gradlint.domain.announcement import Discarded
from gradlint.domain.state import State
from gradlint.interpreter.machine import Machine, simple
from gradlint.source.core import Discard


def discard(machine: Machine, state: State, instr: Discard) -> None:
    """An attribute named, or compared."""
    value = machine.read(state, instr.value if instr.subject is None else instr.subject)
    machine.announce(state, Discarded(instr.node, value))


simple(Discard, discard)
