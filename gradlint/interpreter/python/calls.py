"""Calls of the program's own functions: parameters bound to actual values, the body run, its ways out joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import Site
from gradlint.domain.joined_facts import apart_in, lasting_of
from gradlint.domain.otherwise import note_otherwise
from gradlint.domain.state import Frame, GradMode, State, fresh_address
from gradlint.domain.value import (
    Args,
    Function,
    Instance,
    Ref,
    Sequence,
    Suspended,
    Unknown,
    Value,
)
from gradlint.interpreter.escape import escape, invalidate_attributes, may_depend_on, origins, unknown_call
from gradlint.interpreter.libraries.model_zoos import hide_parameters
from gradlint.interpreter.machine import DEPTH, INSTALLED_CALL, Exit, Machine, Region, splitting
from gradlint.interpreter.python.binding import bind_parameters
from gradlint.interpreter.python.classes import is_overridden, is_unfinished, library_base
from gradlint.interpreter.python.consume import take_unknown
from gradlint.interpreter.python.consumer import Consumer
from gradlint.interpreter.python.contexts import enter_mode, leave_mode
from gradlint.interpreter.reachable import sequence_at
from gradlint.interpreter.torch.parameters import is_module
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.world import guesses
from gradlint.source.core import Return


def invoke(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode
) -> list[tuple[State, Value]]:
    """Call a function; each outcome is a state back in the caller's frame, and the value returned.

    An abstract method is that of a subclass, which is not known; so may be one that does nothing, of a class that has
    abstract methods. `super()` finds the method itself. A method that does nothing with what it is given gives what is
    not known: that of a subclass may return a value.
    """
    hook = function.code.is_empty and is_unfinished(state, args)
    abstract = function.code.is_abstract and not is_overridden(state, function, args)
    if (abstract or hook) and function.owner is not None:
        return unfollowed(machine, state, function, args, node, "abstract methods")
    if function.code.is_empty and function.owner is not None and _is_hook(function):
        return [(state, Unknown(syntax=node))]
    if function.code.body and function.code.is_generator:  # Which shows when the body is lowered.
        return [(state, state.new(Suspended(function, args, node)))]
    return run_body(machine, state, function, args, node)


def _is_hook(function: Function) -> bool:
    code = function.code
    return len(code.params) > 1 and code.name != "forward" and not code.name.startswith("__")


def run_body(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, consumer: Consumer | None = None
) -> list[tuple[State, Value]]:
    """Run a function's body; that of a generator with its `consumer`, or to the end for all that it yields."""
    code = function.code
    if machine.stack.count(code) >= _recursion(state, function, args) or len(machine.stack) >= DEPTH:
        return unfollowed(machine, state, function, args, node, "calls too deep", consumer)
    if machine.program.is_installed(function.module) is (machine.entrance is None):
        if machine.entrance is None:
            return _run_installed(machine, state, function, args, node, consumer)
        with machine.in_own_file():
            return run_body(machine, state, function, args, node, consumer)
    if machine.foreign_limit is not None and machine.budget <= machine.foreign_limit:
        return unfollowed(machine, state, function, args, node, "calls into other files", consumer)
    if function.module != machine.program.home and machine.foreign_limit is None:
        return _run_other_file(machine, state, function, args, node, consumer)
    machine.called.add(code)
    entrance = machine.entrance or machine.entered
    if entrance is not None:
        machine.entrances.setdefault(code.node, set()).add(entrance)
    machine.stack.append(code)
    first_exit = len(machine.exits)
    names = bind_parameters(machine, state, function, args)
    frame = fresh_address()
    if consumer is not None:
        machine.consumers[frame] = consumer
    former = state.enter(frame, Frame(names, function.frame, function))
    restore = [enter_mode(machine, state, mode) for mode in function.modes]
    site = state.site
    state.site = node, site
    ends = [(end, None) for end in machine.run(code.body, [state])]
    machine.consumers.pop(frame, None)
    outcomes: list[tuple[State, Value]] = list(ends)
    raised: list[Exit] = []
    for exit in machine.exits[first_exit:]:
        if exit.kind == "return":
            outcomes.append((exit.state, exit.value))
        elif exit.kind == "raise" or "@" in exit.kind:
            raised.append(exit)
    machine.exits[first_exit:] = raised
    machine.stack.pop()
    collects = consumer is None and code.is_generator
    results = [_leave(collects, end, value, former, restore, site) for end, value in outcomes]
    for exit in raised:
        if exit.kind == "raise":
            _leave(False, exit.state, None, former, restore, site)
    return results


def _run_other_file(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, consumer: Consumer | None
) -> list[tuple[State, Value]]:
    """Run a call into another file, which has steps of its own: they are not taken from those of this file."""
    if machine.allowance <= 0:
        return unfollowed(machine, state, function, args, node, "calls into other files", consumer)
    before, machine.foreign_limit = machine.budget, machine.budget - machine.allowance
    detour, machine.entered = machine.detour, node
    machine.sides.enter()
    try:
        results = run_body(machine, state, function, args, node, consumer)
    finally:
        machine.foreign_limit = machine.entered = None
    before -= machine.detour - detour
    machine.allowance -= before - machine.budget
    machine.budget = before
    return results


def _may_matter(machine: Machine, state: State, function: Function, args: Args) -> bool:
    """Return whether a call into an installed package is given tensors, modules or optimizers, or may make them."""
    if function.owner is None or not args.positional:
        return True
    receiver = args.positional[0]
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    torch = isinstance(record, Instance) and (library_base(state, record.cls) or "").startswith(_TORCH)
    return torch or bool(origins(state, args.values()))


_TORCH = ("torch.nn.", "torch.optim.", "torch.autograd.")


def _run_installed(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, consumer: Consumer | None
) -> list[tuple[State, Value]]:
    """Run a call into an installed package, by steps of its own.

    What is not followed to one end counts as unknown, be it that all ways in it seem to raise, or that several do not
    agree: much in libraries is decided by what stands nowhere in their source.
    """
    if machine.installed_left <= 0 or not _may_matter(machine, state, function, args):
        return unfollowed(machine, state, function, args, node, "calls into packages", consumer)
    former, budget, detour = state.fork(), machine.budget, machine.detour
    former.dirty, former.dirty_frames = set(state.dirty), set(state.dirty_frames)
    limit, machine.foreign_limit = machine.foreign_limit, budget - min(machine.installed_left, INSTALLED_CALL)
    machine.entrance, machine.own_limit = node, machine.limit
    results: list[tuple[State, Value]] = []
    region = machine.open(state)
    with machine.within(budget - 2 * INSTALLED_CALL, "calls into packages"):
        results = run_body(machine, state, function, args, node, consumer)
    machine.entrance, machine.foreign_limit = None, limit
    budget -= machine.detour - detour
    machine.installed_left -= budget - machine.budget
    machine.budget = budget
    for end, value in results:
        end.set(RESULT, value)
    ends = machine.join([end for end, _ in results], (RESULT,))
    machine.close(ends, region)
    if consumer is None and len(ends) != 1:
        return unfollowed(machine, former, function, args, node, "calls into packages")
    return [(end, end.locals[RESULT]) for end in ends]


def _recursion(state: State, function: Function, args: Args) -> int:
    """Return how deep a function may recurse: deeper where it may count or descend to an end."""
    for value in args.positional[function.owner is not None :]:
        if type(value) is int or (isinstance(value, Ref) and isinstance(state.heap.get(value.id), Instance)):
            return _BOUNDED
    return 2


_BOUNDED = 5


def unfollowed(
    machine: Machine,
    state: State,
    function: Function,
    args: Args,
    node: cst.CSTNode,
    reason: str,
    consumer: Consumer | None = None,
) -> list[tuple[State, Value]]:
    """Give up a call: of a method, the object may have attributes now that were not seen.

    What consumes a generator runs all the same, once: the block of a `with` statement is not left out.
    """
    machine.give_up(reason, node)
    name = function.code.name
    again = function.code in machine.stack  # What it does to its arguments, the calls before this one have done.
    if name == "forward" and machine.assumes:
        # A network computes; it does not train itself.
        escape(machine, state, args.values(), node)
        result: Value = Unknown(syntax=node)
    elif (again or function.code.is_abstract) and machine.assumes and not guesses.may_train(name):
        machine.assume(Assumption("name", name, "a function that neither clears gradients nor steps", node))
        result = may_depend_on(origins(state, args.values()), node)
    else:
        result = unknown_call(machine, state, args.values(), node)
        if function.code.is_abstract:
            # That of a subclass may train what its object holds, though nothing shows that here.
            state.escape()
            invalidate_gradients(machine, state, node)
    receiver = args.positional[0] if function.owner is not None and args.positional else None
    if isinstance(receiver, Ref) and isinstance(record := state.heap.get(receiver.id), Instance):
        module = record.module._replace(uninitialised=record.module.uninitialised and name != "__init__")
        state.put(receiver.id, record._replace(open=True, module=module))
        if name == "__init__" and machine.assumes and is_module(state, receiver):
            hide_parameters(machine, state, receiver, node)
    if consumer is not None:
        return [(end, result) for end in take_unknown(machine, consumer, state)]
    return [(state, result)]


def _leave(
    generator: bool, state: State, value: Value, former: int, restore: list[GradMode], site: Site
) -> tuple[State, Value]:
    if generator:
        value = state.frames[state.frame].yields or state.new(Sequence((Unknown(),), "iterator", True))
    for saved in reversed(restore):
        leave_mode(state, saved)
    state.site = site
    if not state.frames[state.frame].captured:
        del state.frames[state.frame]
    state.leave(former)
    return state, value


RESULT: Final = 0
"""The temporary for the result of a call in place; those of the code are numbered from 1."""


def settle(
    machine: Machine, state: State, run: Callable[[], list[tuple[State, Value]]], receiver: tuple[Value, ...] = ()
) -> Value:
    """Run what may split a state where a program cannot: of several outcomes the first that remains goes on."""
    before = state.fork()
    region = machine.open(state)
    outcomes = run()
    for outcome, value in outcomes:
        outcome.set(RESULT, value)
    states = machine.join([outcome for outcome, _ in outcomes], (RESULT,))
    machine.close(states, region)
    _detach_exits(machine, region, state)
    if not states:
        # Every path raises: the caller goes on as if the call had not been made.
        state.become(before)
        state.dirty, state.dirty_frames = region.dirty, region.frames
        for given in receiver:
            invalidate_attributes(state, given)  # An object whose constructor raises is not half made.
        return Unknown()
    if len(states) > 1:
        machine.give_up("paths dropped", None, len(states) - 1)
        for dropped in states[1:]:
            machine.share_graphs(dropped)
            states[0].allow_attributes(dropped)
            note_otherwise(states[0], dropped)
            kept, others = states[0].facts, dropped.facts
            states[0].facts = {**kept, **lasting_of(kept, others, apart_in(kept, others))}
        states[0].forget_tests(before)
    if states[0] is not state:
        state.become(states[0])
    value = state.locals[RESULT]
    state.drop(RESULT)
    return value


def _detach_exits(machine: Machine, region: Region, state: State) -> None:
    """Keep what the state is now for the ways out that it took itself; it goes on as something else."""
    for index in range(region.first_exit, len(machine.exits)):
        exit = machine.exits[index]
        if exit.state is state:
            machine.exits[index] = exit._replace(state=state.fork())


def suspended_at(state: State, value: Value) -> Suspended | None:
    """Return the generator that a value is, if it has not begun."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return record if isinstance(record, Suspended) else None


def exhaust(machine: Machine, state: State, ref: Ref) -> Sequence:
    """Return all that a generator yields, where nothing happens between one item and the next."""
    generator = suspended_at(state, ref)
    assert generator is not None
    state.put(ref.id, Sequence((), "generator", False, 0))
    begun = generator.function, generator.args, generator.node
    value = settle(machine, state, lambda: run_body(machine, state, *begun))
    return sequence_at(state, value) or Sequence((), open=True)


def run_return(machine: Machine, states: list[State], instr: Return) -> list[State]:
    """return value"""
    machine.exits.extend(Exit("return", state, machine.read(state, instr.value)) for state in states)
    return []


splitting(Return, run_return)
