"""Assignments that the lowering marks: those that give a loop's variable a value which nobody reads."""

from __future__ import annotations

from gradlint.domain.announcement import LoopVariableRebound
from gradlint.domain.state import State
from gradlint.interpreter.machine import Machine, simple
from gradlint.source.core import Rebind


def rebind(machine: Machine, state: State, instr: Rebind) -> None:
    """Announce a dead store to the variable of a loop."""
    former, value = machine.read(state, instr.name), machine.read(state, instr.value)
    machine.announce(state, LoopVariableRebound(instr.node, former, value))


simple(Rebind, rebind)
