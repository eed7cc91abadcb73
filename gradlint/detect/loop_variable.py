"""A loop over parameters that only gives its variable another value: the parameters stay as they are."""

from __future__ import annotations

from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.interpreter.machine import Machine, simple
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.source.core import Rebind


def rebind(machine: Machine, state: State, instr: Rebind) -> None:
    """The variable stands for a parameter, and the value for memory of its own."""
    former, value = (
        known_tensor(machine, state, machine.read(state, operand)) for operand in (instr.name, instr.value)
    )
    if former is None or value is None:
        return
    old, new = state[former], state[value]
    assert isinstance(old, Tensor) and isinstance(new, Tensor)
    if old.parameter and old.node.leaf is not None and new.memory != old.memory and new.view is None:
        faults.noticed(machine, "loop-variable-rebound", instr.node)


simple(Rebind, rebind)
