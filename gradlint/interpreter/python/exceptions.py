"""try: the body may run through, or an exception may leave it before anything it did."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.state import State
from gradlint.domain.value import External, Unknown, Value
from gradlint.facts.names import names_of
from gradlint.interpreter.machine import Exit, Machine, splitting_each
from gradlint.source.core import Handler, Import, Try

_EXPECTED_ERRORS = frozenset({"builtins.RuntimeError", "builtins.AssertionError", "builtins.TypeError"})


def run_try(machine: Machine, state: State, instr: Try) -> list[State]:
    """try: body; except: handlers; else; finally"""
    region, frame = machine.open(state), state.frame
    start = state.fork()
    first_exit = len(machine.exits)
    errors = list(_errors(machine, state, instr.handlers))
    # The program knows that torch may refuse; or guards names that another version of torch may lack.
    # An error that is not known may be any.
    catching = any(
        isinstance(one, Unknown) or (isinstance(one, External) and one.path in _EXPECTED_ERRORS) for one in errors
    )
    guarding = any(not isinstance(one, External) or one.path in _NAME_ERRORS for one in errors)
    machine.caught += catching
    machine.guarded += guarding
    machine.tried += bool(instr.handlers)
    live = machine.run(instr.body, [state])
    machine.caught -= catching
    machine.guarded -= guarding
    machine.tried -= bool(instr.handlers)
    raised = [exit.state for exit in machine.exits[first_exit:] if exit.kind == "raise"]
    machine.exits[first_exit:] = [exit for exit in machine.exits[first_exit:] if exit.kind != "raise"]
    live = machine.run(instr.orelse, live)
    handled: list[State] = []
    if instr.handlers and not _succeeds(instr, errors):
        handled = [end for thrown in raised[:1] for end in _handle(machine, thrown, instr.handlers)]
        # What the handler then meets is what made the body fail: something else than it was taken for.
        machine.expected += 1
        handled.extend(_handle(machine, start, instr.handlers))
        machine.expected -= 1
    else:
        machine.exits.extend(Exit("raise", other) for other in raised)
    after = _finally(machine, machine.join(live + handled), instr, frame, first_exit)
    machine.close(after, region)
    return after


def _succeeds(instr: Try, errors: list[Value]) -> bool:
    """Return whether a guarded import cannot fail: torch is there, and numpy, which nearly every program needs."""
    imports = [one for one in instr.body if isinstance(one, Import)]
    guards = all(isinstance(one, External) and one.path in _IMPORT_ERRORS for one in errors)
    known = names_of("torch") or frozenset()
    there = (
        one.path == "numpy" or (one.path == "torch" and (one.name is None or one.name in known)) for one in imports
    )
    return guards and bool(imports) and all(there)


def _handle(machine: Machine, state: State, handlers: list[Handler]) -> list[State]:
    """Run the handlers side by side; their states differ only by what they do."""
    after: list[State] = []
    for index, handler in enumerate(handlers):
        other = state if index == len(handlers) - 1 else state.fork()
        for entered in machine.run(handler.head, [other]):
            if handler.name is not None:
                entered.set(handler.name, Unknown())
            after.extend(machine.run(handler.body, [entered]))
    return after


def _finally(machine: Machine, states: list[State], instr: Try, frame: int, first_exit: int) -> list[State]:
    """Run what comes last on all paths; around a `yield`, those that leave a block of the consumer are in its frame."""
    if not instr.final:
        return states
    leaving = machine.exits[first_exit:]
    del machine.exits[first_exit:]
    states = machine.run(instr.final, states)
    for exit in leaving:
        outside, site = exit.state.frame, exit.state.site
        exit.state.leave(frame)
        for other in machine.run(instr.final, [exit.state]):
            other.leave(outside)
            other.site = site
            machine.exits.append(exit._replace(state=other))
    return states


def _errors(machine: Machine, state: State, handlers: list[Handler]) -> Iterator[Value]:
    """Yield what the handlers name; None for one that catches all."""
    for handler in handlers:
        heads = machine.run(handler.head, [state.fork()]) if handler.head else [state]
        types = None if handler.types is None or not heads else machine.read(heads[0], handler.types)
        yield from types if type(types) is tuple else (types,)


_IMPORT_ERRORS = ("builtins.ImportError", "builtins.ModuleNotFoundError")
_NAME_ERRORS = frozenset(
    f"builtins.{name}"
    for name in ("AttributeError", "TypeError", "ImportError", "ModuleNotFoundError", "Exception", "BaseException")
)


splitting_each(Try, run_try)
