"""`with` statements: the context is entered, and the block run in it."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import fresh_number
from gradlint.domain.refusal.training_loop import GradModeNotCalled
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, Context, External, HookHandle, Instance, Ref, Suspended, Unknown, Value
from gradlint.interpreter.machine import Machine, splitting
from gradlint.interpreter.python.classes import find_method
from gradlint.interpreter.python.consume import where_grad_may_be_off
from gradlint.interpreter.python.contexts import (
    FACTS,
    STACK,
    callbacks,
    end_call,
    enter_mode,
    leave_mode,
    refuses_block,
)
from gradlint.interpreter.python.generators import run_with
from gradlint.source.core import With


def enter_with(machine: Machine, states: list[State], instr: With) -> list[State]:
    """with context: body. Whatever way the body is left, the mode is restored."""
    return [end for state in states for end in _with(machine, state, instr)]


_MODES = {
    f"torch.{name}": name for name in ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "autocast")
}


def _with(machine: Machine, state: State, instr: With) -> list[State]:
    context = machine.read(state, instr.context)
    if isinstance(context, External) and context.path in _MODES:
        # The class itself is no context manager: torch raises. What the block is meant to be is plain.
        machine.emit(GradModeNotCalled(instr.node, context.path))
        context = Context(_MODES[context.path], Unknown() if context.path.endswith("set_grad_enabled") else None)
    if isinstance(context, Context):
        return _known(machine, state, instr, context)
    if isinstance(context, Ref) and isinstance(state.heap.get(context.id), Suspended):
        return run_with(machine, state, context, instr)
    state.set(instr.dest, _entered(machine, state, context, instr.node))
    if not isinstance(context, Unknown):
        after = machine.run(instr.body, [state])
        for other in after:
            record = other.heap.get(context.id) if isinstance(context, Ref) else None
            if isinstance(record, Instance) and isinstance(record.inner, HookHandle):
                machine.call(other, Bound(context, "__exit__"), Args(), instr.node)
        return after
    if context.kind != STACK:
        return where_grad_may_be_off(machine, lambda: machine.run(instr.body, [state]))
    saved, first_exit = (state.grad, state.inference, state.blocked), len(machine.exits)
    after = machine.run(instr.body, [state])
    for other in (*after, *(exit.state for exit in machine.exits[first_exit:])):
        for function, args, node in reversed(callbacks(other, context)):
            machine.call(other, function, args, node)
        leave_mode(other, saved)
    return after


def _known(machine: Machine, state: State, instr: With, context: Context) -> list[State]:
    state.set(instr.dest, Unknown() if context.mode in ("expecting", "warned") else context.former)
    first_exit = len(machine.exits)
    end_call(state, context)
    if refuses_block(machine, state, context):
        return []
    fact = FACTS.get(context.mode)
    former, since = state.facts.get(fact, False), fresh_number()
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
        if fact is not None:
            other.decide(fact, former)
    if context.mode == "allow_mutation":
        machine.mutable.append((since, fresh_number(), context.syntax))
    return after


def _entered(machine: Machine, state: State, context: Value, node: cst.CSTNode) -> Value:
    """Return what `as` binds: the result of the program's own `__enter__`, or else the context itself."""
    if isinstance(context, Ref) and isinstance(state[context], Instance):
        method = find_method(state, context, "__enter__")
        if method is not None:
            return machine.call(state, method, Args(), node)
    if isinstance(context, Unknown) and context.kind != STACK:
        return machine.symbol("enter", context)
    return context


splitting(With, enter_with)
