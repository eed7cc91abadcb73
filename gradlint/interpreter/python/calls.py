"""Calls of the program's own functions: parameters bound to actual values, the body run, its ways out met."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import Site
from gradlint.domain.state import Frame, Names, State, fresh_address
from gradlint.domain.value import (
    Bound,
    Class,
    Function,
    Instance,
    Partial,
    Ref,
    Sequence,
    Suspended,
    Unknown,
    Value,
)
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import DEPTH, Exit, Machine, Region, splitting
from gradlint.interpreter.program import forget_attributes
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.python.contexts import Saved, enter_mode, leave_mode
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch.custom import is_function_class
from gradlint.interpreter.torch.hooks import is_hooked
from gradlint.interpreter.torch.registration import enter_module
from gradlint.source.core import Call, Code, Return

if TYPE_CHECKING:
    from gradlint.interpreter.python.generators import Consumer


def run_call(machine: Machine, states: list[State], instr: Call) -> list[State]:
    """dest = func(args). The program's functions may come back in several states."""
    if len(states) == 1:
        return _call(machine, states[0], instr)
    after: list[State] = []
    for state in states:
        after.extend(_call(machine, state, instr))
    # States that went in apart have a reason to be: they are compared again where branches and loops end.
    return machine.meet(after, (instr.dest,)) if len(after) > len(states) else after


def _call(machine: Machine, state: State, instr: Call) -> list[State]:
    from gradlint.interpreter.dispatch import call_value

    machine.budget -= 1
    func = machine.read(state, instr.func)
    args = _arguments(machine, state, instr)
    if type(func) is Ref:
        enter_module(machine, state, func, instr.node)
    target = as_function(machine, state, func, args)
    if target is None:
        state.set(instr.dest, call_value(machine, state, func, args, instr.node))
        return [state]
    region = machine.open(state)
    after: list[State] = []
    for outcome, value in invoke(machine, state, target[0], target[1], instr.node):
        outcome.set(instr.dest, value)
        after.append(outcome)
    after = machine.meet(after, (instr.dest,))
    machine.close(after, region)
    return after


def _arguments(machine: Machine, state: State, instr: Call) -> Args:
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    hidden: list[Value] = []
    is_open = False
    for arg in instr.args:
        value = machine.read(state, arg.operand)
        if arg.star == "*":
            items = items_of(machine, state, value, instr.node)
            if items.open:
                hidden.append(value)
                hidden.extend(items.items)
                is_open = True
            else:
                positional.extend(items.items)
        elif arg.star == "**":
            pairs = machine.program.pairs(state, value)
            if pairs is None:
                hidden.append(value)
                is_open = True
            else:
                keywords.update(pairs)
        elif arg.keyword is not None:
            keywords[arg.keyword] = value
        else:
            positional.append(value)
    return Args(tuple(positional), keywords, is_open, tuple(hidden))


def as_function(machine: Machine, state: State, func: Value, args: Args) -> tuple[Function, Args] | None:
    """The program's function behind a callable value, with the arguments it gets; None for anything else."""
    kind = type(func)
    if kind is Unknown:
        return None
    if isinstance(func, Function):
        return func, args
    if isinstance(func, Bound) and isinstance(func.function, Function):
        return func.function, args.prepend(func.receiver)
    if isinstance(func, Partial):
        merged = Args(func.args + args.positional, {**dict(func.keywords), **args.keywords}, args.open)
        return as_function(machine, state, func.function, merged)
    if isinstance(func, Ref):
        record = state[func]
        if isinstance(record, Instance) and isinstance(record.cls, Ref) and not is_function_class(state, record.cls):
            return _call_method(machine, state, func, record, args)
    return None


def _call_method(
    machine: Machine, state: State, func: Ref, record: Instance, args: Args
) -> tuple[Function, Args] | None:
    """An object called: `__call__`, or `forward` of a module without hooks."""
    for name in ("__call__", "forward"):
        if name == "forward" and is_hooked(machine, record):
            return None
        method = record.attrs.get(name) or find_in_class(state, record.cls, name)
        if isinstance(method, Function):
            return method, args.prepend(func)
    return None


def invoke(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode
) -> list[tuple[State, Value]]:
    """Call a function; each outcome is a state back in the caller's frame, and the value returned."""
    if _generates(function.code):
        return [(state, state.new(Suspended(function, args, node)))]
    return run_body(machine, state, function, args, node)


def run_body(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, consumer: Consumer | None = None
) -> list[tuple[State, Value]]:
    """Run a function's body; that of a generator with its `consumer`, or to the end for all that it yields."""
    code = function.code
    if machine.stack.count(code) >= _recursion(state, function, args) or len(machine.stack) >= DEPTH:
        return _unfollowed(machine, state, function, args, node, "calls too deep")
    if machine.abroad is not None and machine.budget <= machine.abroad:
        return _unfollowed(machine, state, function, args, node, "calls into other files")
    if function.module != machine.program.home and machine.abroad is None:
        return _run_abroad(machine, state, function, args, node, consumer)
    machine.called.add(code)
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
    results = [_leave(machine, collects, end, value, former, restore, site) for end, value in outcomes]
    for exit in raised:
        if exit.kind == "raise":
            _leave(machine, False, exit.state, None, former, restore, site)
    return results


def _run_abroad(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, consumer: Consumer | None
) -> list[tuple[State, Value]]:
    """A call into another file, which has steps of its own: they are not taken from those of this file."""
    if machine.allowance <= 0:
        return _unfollowed(machine, state, function, args, node, "calls into other files")
    before, machine.abroad = machine.budget, machine.budget - machine.allowance
    detour = machine.detour
    try:
        results = run_body(machine, state, function, args, node, consumer)
    finally:
        machine.abroad = None
    before -= machine.detour - detour
    machine.allowance -= before - machine.budget
    machine.budget = before
    return results


def _recursion(state: State, function: Function, args: Args) -> int:
    """How often a function may stand in its own way: more often where it may count or walk down to an end."""
    for value in args.positional[function.owner is not None :]:
        if type(value) is int or (isinstance(value, Ref) and isinstance(state.heap.get(value.id), Instance)):
            return _BOUNDED
    return 2


_BOUNDED = 5


def _unfollowed(
    machine: Machine, state: State, function: Function, args: Args, node: cst.CSTNode, reason: str
) -> list[tuple[State, Value]]:
    """A call that is given up: of a method, the object may have attributes now that were not seen."""
    machine.give_up(reason, node)
    result = machine.program.opaque(machine, state, args.values(), node)
    receiver = args.positional[0] if function.owner is not None and args.positional else None
    record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
    if isinstance(receiver, Ref) and isinstance(record, Instance):
        state.put(receiver.id, record._replace(open=True))
    return [(state, result)]


def _generates(code: Code) -> bool:
    """Whether a function is a generator, which shows when its body is lowered."""
    return bool(code.body) and code.is_generator


def _leave(
    machine: Machine,
    generator: bool,
    state: State,
    value: Value,
    former: int,
    restore: list[Saved],
    site: Site,
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


def bind_parameters(machine: Machine, state: State, function: Function, args: Args) -> Names:
    """The first variables of a call: parameters from arguments, defaults, or unknown."""
    names: Names = {}
    positional = list(args.positional)
    keywords = dict(args.keywords)
    defaults = dict(function.defaults)
    for param in function.code.params:
        name = param.name
        if param.kind == "*":
            names[name] = tuple(positional) if not args.open else machine.unknown()
            positional = []
        elif param.kind == "**":
            names[name] = machine.program.new_mapping(state, keywords, args.open)
        elif positional and not param.keyword_only:
            names[name] = positional.pop(0)
        elif name in keywords:
            names[name] = keywords.pop(name)
        elif name in defaults and not args.open:
            names[name] = defaults[name]
        else:
            names[name] = machine.program.parameter(machine, state, function, param)
    return names


def with_defaults(machine: Machine, function: Function, args: Args) -> Args:
    """The arguments of a call that nobody in sight makes: that the others have their defaults is an assumption."""
    if not machine.assumes:
        return args._replace(open=True)
    given = {*args.keywords, *(param.name for param in function.code.params[: len(args.positional)])}
    defaults = {name for name, _ in function.defaults} - given
    for param in function.code.params if defaults else ():
        if param.name in defaults:
            machine.assume(Assumption("default", param.name, "", param.node))
    return args


def call_in_place(machine: Machine, state: State, func: Value, args: Args, node: cst.CSTNode) -> Value:
    """Call any value where the program cannot split: of several outcomes the first that remains goes on."""
    from gradlint.interpreter.dispatch import call_value

    target = as_function(machine, state, func, args)
    if target is None:
        return call_value(machine, state, func, args, node)
    return settle(machine, state, lambda: invoke(machine, state, target[0], target[1], node), target[1].positional[:1])


RESULT: Final = 0
"""The temporary for the result of a call in place; those of the code are numbered from 1."""


def settle(
    machine: Machine,
    state: State,
    run: Callable[[], list[tuple[State, Value]]],
    receiver: tuple[Value, ...] = (),
) -> Value:
    """Run what may split a state where a program cannot: of several outcomes the first that remains goes on."""
    before = state.fork()
    region = machine.open(state)
    states: list[State] = []
    for outcome, value in run():
        outcome.set(RESULT, value)
        states.append(outcome)
    states = machine.meet(states, (RESULT,))
    machine.close(states, region)
    _detach_exits(machine, region, state)
    if not states:
        # Every path raises: the caller goes on as if the call had not been made.
        state.become(before)
        state.dirty, state.dirty_frames = region.dirty, region.frames
        for given in receiver:
            forget_attributes(state, given)  # An object whose constructor raises is not half made.
        return machine.unknown()
    if len(states) > 1:
        machine.give_up("paths dropped", None, len(states) - 1)
        for dropped in states[1:]:
            machine.lend_all(dropped)
    if states[0] is not state:
        state.become(states[0])
    value = state.locals[RESULT]
    state.drop(RESULT)
    return value


def _detach_exits(machine: Machine, region: Region, state: State) -> None:
    """Ways out that the state itself took keep what it is now; the state goes on as something else."""
    for index in range(region.first_exit, len(machine.exits)):
        exit = machine.exits[index]
        if exit.state is state:
            machine.exits[index] = exit._replace(state=state.fork())


def run_return(machine: Machine, states: list[State], instr: Return) -> list[State]:
    """return value"""
    machine.exits.extend(Exit("return", state, machine.read(state, instr.value)) for state in states)
    return []


splitting(Call, run_call)
splitting(Return, run_return)

__all__ = ["Args", "Class", "as_function", "call_in_place", "invoke", "run_body", "settle"]
