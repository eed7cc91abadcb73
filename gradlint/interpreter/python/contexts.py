"""Grad modes and other contexts: `with`, and what decorators put around a call."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.graph import Tri
from gradlint.domain.refusal.training_loop import GradModeNotCalled
from gradlint.domain.refusal.transform import TransformMismatch
from gradlint.domain.state import Blocked, State
from gradlint.domain.value import Context, External, Instance, Ref, Suspended, Unknown, Value
from gradlint.interpreter.machine import Machine, splitting
from gradlint.interpreter.python.classes import find_method
from gradlint.source.core import With

Saved: TypeAlias = "tuple[Tri, Tri, Blocked | None]"

MUTATION = "mutation of saved tensors"
"""The fact of a state in which torch keeps a copy of what is written after it was saved."""

DUAL = "dual level"
"""The fact of a state: whether it is inside a level of forward-mode derivatives; None where callers decide."""

ONCE = "once_differentiable"
"""What a decorator says of a backward: torch raises where its result is differentiated again."""

AUTOCAST = "autocast"
"""The fact of a state inside `torch.autocast`, where saved tensors may be cast copies."""


def enter_mode(machine: Machine, state: State, context: Context) -> Saved:
    """Switch the grad mode; returns what `leave_mode` needs. Measured: inference mode also turns recording off."""
    saved = (state.grad, state.inference, state.blocked)
    argument = context.argument
    wanted = argument if isinstance(argument, bool) else None
    match context.mode:
        case "no_grad":
            state.grad = False
        case "enable_grad":
            # Inside inference mode nothing is recorded all the same (measured).
            state.grad = None if state.inference is None else not state.inference
        case "set_grad_enabled":
            state.grad = wanted
        case "inference_mode":
            if argument is None or wanted is True:
                state.grad, state.inference = False, True
                machine.inferences.add(context.syntax)
            elif wanted is False:
                state.grad, state.inference = True, False
            else:
                state.grad, state.inference = None, None
        case "autocast":
            state.decide(AUTOCAST, True)
        case "allow_mutation":
            state.decide(MUTATION, True)
        case "dual_level":
            if state.facts.get(DUAL, False) is True:
                place = context.syntax or machine.program.nowhere
                machine.emit(TransformMismatch(place, "dual_level", "level-nested"))
            state.decide(DUAL, True)
    if state.grad is False and saved[0] is not False:
        state.blocked = Blocked("no_grad", context.syntax)
    return saved


def leave_mode(state: State, saved: Saved) -> None:
    """Restore the grad mode."""
    state.grad, state.inference, state.blocked = saved


def enter_with(machine: Machine, states: list[State], instr: With) -> list[State]:
    """with context: body. Whatever way the body is left, the mode is restored."""
    after: list[State] = []
    for state in states:
        after.extend(_with(machine, state, instr))
    return after


_MODES = {
    f"torch.{name}": name for name in ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast")
}


def _with(machine: Machine, state: State, instr: With) -> list[State]:
    from gradlint.interpreter.python.generators import run_with

    context = machine.read(state, instr.context)
    if isinstance(context, External) and context.path in _MODES:
        # The class itself is no context manager: torch raises. What the block is meant to be is plain.
        machine.emit(GradModeNotCalled(instr.node, context.path))
        context = Context(
            _MODES[context.path], machine.unknown() if context.path.endswith("set_grad_enabled") else None
        )
    if isinstance(context, Context):
        return _known(machine, state, instr, context)
    if isinstance(context, Ref) and isinstance(state.heap.get(context.id), Suspended):
        return run_with(machine, state, context, instr)
    state.set(instr.dest, _entered(machine, state, context, instr.node))
    return machine.run(instr.body, [state])


def _known(machine: Machine, state: State, instr: With, context: Context) -> list[State]:
    state.set(instr.dest, machine.unknown() if context.mode in ("expecting", "warned") else context.former)
    first_exit = len(machine.exits)
    if context.mode == "set_grad_enabled" and isinstance(context.former, bool):
        # `set_grad_enabled(x)` took effect when it was called; the block restores what was before the call.
        state.grad, state.off = context.former, None
    had_autocast = state.facts.get(AUTOCAST)
    had_level = state.facts.get(DUAL, False)
    saved = enter_mode(machine, state, context)
    expecting = context.mode == "expecting"
    warned = context.mode == "warned"
    machine.expected += expecting
    machine.warned += warned
    after = machine.run(instr.body, [state])
    machine.expected -= expecting
    machine.warned -= warned
    for other in (*after, *(exit.state for exit in machine.exits[first_exit:])):
        leave_mode(other, saved)
        if context.mode == "autocast" and not had_autocast:
            other.decide(AUTOCAST, False)
        elif context.mode == "dual_level":
            other.decide(DUAL, had_level)
    return after


def _entered(machine: Machine, state: State, context: Value, node: cst.CSTNode) -> Value:
    """What `as` binds: the result of the program's own `__enter__`, or else the context itself."""
    from gradlint.interpreter.python.calls import Args, call_in_place

    if isinstance(context, Ref) and isinstance(state[context], Instance):
        method = find_method(state, context, "__enter__")
        if method is not None:
            return call_in_place(machine, state, method, Args(), node)
    if isinstance(context, Unknown):
        return machine.symbol("enter", context)
    return context


splitting(With, enter_with)
