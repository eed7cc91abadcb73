"""Backwards of custom functions that get None for results without a gradient: after `set_materialize_grads(False)`.

Measured with torch 2.13: a result that no backward comes to has none, and neither has one that does not require grad.
"""

from __future__ import annotations

from collections.abc import Container

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.functions import NoneGradientArrived
from gradlint.domain.state import State
from gradlint.domain.value import Args, NoGradient
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import unknown_tensor


def refuses_absent(machine: Machine, state: State, made: Node, reached: Container[int], node: cst.CSTNode) -> bool:
    """Return whether the backward of a function computes with the None of a result that gets no gradient.

    `reached` are the nodes that the backward at `node` may run through.
    """
    applied = machine.lenient.get(made.id)
    if applied is None or all(one is not None and one.id in reached for one in applied.results):
        return False
    aside = state.fork()
    aside.grad = None
    absent = NoGradient(None, 0, asked=node, applied=made.syntax)
    gradients = [
        absent if one is None or one.id not in reached else unknown_tensor(aside, node) for one in applied.results
    ]
    first_exit, region, before = len(machine.exits), machine.open(aside), len(machine.events)
    machine.call(aside, applied.backward, Args((applied.ctx, *gradients)), node)
    del machine.exits[first_exit:]
    machine.close([aside], region)
    return any(isinstance(event, NoneGradientArrived) for event in machine.events[before:])
