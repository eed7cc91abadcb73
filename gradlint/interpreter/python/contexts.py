"""Grad modes and other contexts that `with` statements enter, and decorators put around a call."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.refusal.functions import Misuse, SavedTensorMisused
from gradlint.domain.refusal.transform import TransformMismatch
from gradlint.domain.state import Blocked, GradMode, State
from gradlint.domain.value import Args, Context, Unknown, Value
from gradlint.interpreter.machine import Machine

Callback: TypeAlias = "tuple[Value, Args, cst.CSTNode]"

MUTATION = "mutation of saved tensors"
"""The fact of a state in which torch keeps a copy of what is written after it was saved."""

SAVED_HOOKS = "hooks of saved tensors"
"""The fact of a state: whether hooks for saved tensors are "on", or switched "off", by the block that it is in."""

DUAL = "dual level"
"""The fact of a state: whether it is inside a level of forward-mode derivatives; None where callers decide."""

ONCE = "once_differentiable"
"""What a decorator says of a backward: torch raises where its result is differentiated again."""

STACK = "contextlib.ExitStack"
"""The kind of a stack of contexts, whose modes end with its block."""

MEMORY = "memory"
"""The fact of an array, with this before it in the key: the tensor that was made over its memory."""

AUTOCAST = "autocast"
"""The fact of a state inside `torch.autocast`, where saved tensors may be cast copies."""


def call_at_end(state: State, stack: Unknown, args: Args, node: cst.CSTNode) -> Value:
    """stack.callback(function, ...): it is called when the block of the stack ends, the last one first."""
    former = callbacks(state, stack)
    function, *given = args.positional or (Unknown(),)
    state.decide(("callbacks", stack), (*former, (function, args._replace(positional=tuple(given)), node)))
    return function


def callbacks(state: State, stack: Unknown) -> tuple[Callback, ...]:
    """Return what is called at the end of the block of a stack."""
    return state.facts.get(("callbacks", stack), ())  # type: ignore[return-value]


FACTS = {
    "autocast": AUTOCAST,
    "dual_level": DUAL,
    "allow_mutation": MUTATION,
    "saved_hooks": SAVED_HOOKS,
    "no_saved_hooks": SAVED_HOOKS,
}
"""By the mode of a context, the fact that holds in its block."""


def saves_by_hooks(state: State) -> bool:
    """Return whether hooks of the program take what is saved."""
    return state.facts.get(SAVED_HOOKS) == "on"


def refuses_block(machine: Machine, state: State, context: Context) -> bool:
    """Report a block that torch refuses to enter, because of the one around it (torch/autograd/graph.py)."""
    place, around = context.syntax or machine.program.nowhere, state.facts.get(SAVED_HOOKS)
    reason: Misuse
    if context.mode == "allow_mutation" and state.facts.get(MUTATION) is True:
        reason = "nested"
    elif context.mode in ("saved_hooks", "allow_mutation") and around == "off":
        reason = "disabled"
    elif context.mode == "no_saved_hooks" and around == "on":
        reason = "enabled"
    else:
        return False
    machine.emit(SavedTensorMisused(place, reason))
    return True


def enter_mode(machine: Machine, state: State, context: Context) -> GradMode:
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
        case "saved_hooks":
            state.decide(SAVED_HOOKS, "on")
        case "no_saved_hooks":
            state.decide(SAVED_HOOKS, "off")
        case "dual_level":
            if state.facts.get(DUAL, False) is True:
                place = context.syntax or machine.program.nowhere
                machine.emit(TransformMismatch(place, "dual_level", "level-nested"))
            state.decide(DUAL, True)
    if state.grad is False and saved[0] is not False:
        state.blocked = Blocked("no_grad", context.syntax)
    return saved


def end_call(state: State, context: Context) -> None:
    """`set_grad_enabled(x)` took effect when it was called: what it is put around, a block or a function, ends that."""
    if context.mode == "set_grad_enabled" and isinstance(context.former, bool):
        state.grad, state.off = context.former, None


def leave_mode(state: State, saved: GradMode) -> None:
    """Restore the grad mode."""
    state.grad, state.inference, state.blocked = saved
