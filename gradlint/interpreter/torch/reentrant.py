"""Backwards inside of backwards: a custom function whose own backward calls `backward` or `autograd.grad`.

What it does wrong there, and what it frees, shows where torch runs it: with grad mode off, unless the caller asks for a
graph of the gradient.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Node, Tri
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Function, Ref, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import enter_mode, leave_mode
from gradlint.interpreter.torch.tensor import new_tensor


class Reentering(NamedTuple):
    """Such a function that was applied: its backward, its `ctx`, and the shape and type of each gradient it gets."""

    backward: Function
    ctx: Ref
    gradients: tuple[tuple[Shape, str | None], ...]


def reenter(machine: Machine, state: State, nodes: Iterable[Node], created: Tri, syntax: cst.CSTNode) -> None:
    """Run the backward of each such function that a backward certainly runs; `created`: it makes a graph."""
    for one in nodes:
        applied = machine.reentering.get(one.id)
        if not isinstance(applied, Reentering):
            continue
        given: list[Value] = [
            new_tensor(state, Node("gradient", syntax), dtype=dtype, shape=shape) for shape, dtype in applied.gradients
        ]
        saved = enter_mode(machine, state, Context("set_grad_enabled", created))
        machine.call(state, applied.backward, Args((applied.ctx, *given)), syntax)
        leave_mode(state, saved)
