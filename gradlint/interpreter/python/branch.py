"""Branches: `If`, `Assume`, and what is known of a test's truth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import EllipsisType

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.announcement import GradientTested
from gradlint.domain.pinned import pin, told
from gradlint.domain.refusal.tensors import TruthOfMany
from gradlint.domain.shape import Sym
from gradlint.domain.state import State
from gradlint.domain.value import (
    Bound,
    Class,
    External,
    Function,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.machine import Exit, Machine, splitting
from gradlint.interpreter.python.counters import compared
from gradlint.interpreter.torch.elements import truth_of
from gradlint.interpreter.torch.transform.levels import refuses_test
from gradlint.source.core import Assume, Break, Continue, If, Instr, Raise


def truth(state: State, value: Value) -> bool | None:
    """Return whether a value is true; None where both ways can be taken."""
    if isinstance(value, Unknown):
        return _symbol_truth(state, value)
    if isinstance(value, Ref):
        record = state[value]
        if isinstance(record, (Sequence, Mapping)):
            if record.items:
                return True
            return None if record.open else False
        if isinstance(record, Instance):
            return None if _sized(state, record) else True
        if isinstance(record, Tensor):
            return truth_of(record)
        return True if isinstance(record, Class) else None
    if isinstance(value, values.NoGradient):
        return False
    if isinstance(value, (External, Function, Bound)):
        return True
    if isinstance(
        value, (values.Imported, values.File, values.Partial, values.Super, values.Context, values.Suspended)
    ):
        return None
    if isinstance(value, (Sym, slice, EllipsisType)):
        return None
    if value is None or isinstance(value, (tuple, bool, int, float, complex, str, bytes)):
        return bool(value)
    return values.assert_never(value)


def _sized(state: State, record: Instance) -> bool:
    """Return whether an object may say of itself that it is false."""
    if isinstance(record.cls, Ref):
        cls = state[record.cls]
        return isinstance(cls, Class) and ("__len__" in cls.attrs or "__bool__" in cls.attrs)
    return isinstance(record.cls, External) and record.cls.path.startswith("torch.nn.Module")


def _symbol_truth(state: State, value: Unknown) -> bool | None:
    known = state.facts.get(value)
    if isinstance(known, bool):
        return known
    if (known := _left_open(state, value)) is not None:
        return known
    if value.key is None:
        return None
    key = value.key
    if key[0] == "nth":
        return compared(">", value, 0)
    if value.negated is not None:
        inner = truth(state, value.negated)
        return None if inner is None else not inner
    return told(state, value)


def _left_open(state: State, value: Unknown) -> bool | None:
    """Return how a test must come out where one of a group did so, and all others have come out otherwise."""
    for group in state.some():
        left = [(test, truth) for test, truth in group if state.facts.get(test) is not (not truth)]
        if len(left) == 1 and left[0][0] == value:
            return left[0][1]
    return None


def assume(state: State, value: Value, holds: bool, fork: int | None = None) -> None:
    """Go on knowing how a test came out, at a fork of that number."""
    learnt: dict[object, object] = {} if fork is None else {fork: holds}
    while isinstance(value, Unknown):
        learnt[value] = holds
        key = value.key
        if key is None:
            break
        if value.negated is not None:
            value, holds = value.negated, not holds
            continue
        learnt.update(pin(key, holds))
        if key[0] == "isinstance" and holds:
            learnt["type", key[1]] = key[2]
        break
    state.facts = {**state.facts, **learnt}


def run_if(machine: Machine, states: list[State], instr: If) -> list[State]:
    """Run both ways where the test is unknown; after the branch, states that agree are joined."""
    if len(states) == 1:
        return _branch(machine, states[0], instr)
    after: list[State] = []
    for state in states:
        after.extend(_branch(machine, state, instr))
    return machine.join(after, () if instr.out is None else (instr.out,), instr.node)


def _branch(machine: Machine, state: State, instr: If) -> list[State]:
    machine.budget -= 1
    test = machine.read(state, instr.test)
    if machine.transforms:
        # A transform may hold several values where the program sees one.
        refuses_test(machine, state, test, getattr(instr.node, "test", instr.node))
    refuses_truth(machine, state, test, getattr(instr.node, "test", instr.node))
    known = truth(state, test)
    if known is not None:
        return machine.run(instr.then if known else instr.orelse, [state])
    for side in (True, False):
        if (instr, side) in machine.sides.refuted:
            assume(state, test, not side)
            return machine.run(instr.orelse if side else instr.then, [state])
    region = machine.open(state)
    other = state.fork()
    assert state.history is not None
    machine.sides.tests[state.history.number] = instr
    assume(state, test, True, state.history.number)
    assume(other, test, False, state.history.number)
    after = machine.run(instr.then, [state])
    after = after + machine.run(instr.orelse, [other])
    after = machine.join(after, () if instr.out is None else (instr.out,), instr.node)
    machine.close(after, region)
    return after


def refuses_truth(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> None:
    """Refuse to ask a tensor of other than one element whether it is true."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    sizes = (record.shape or ()) if isinstance(record, Tensor) else ()
    if isinstance(record, Tensor) and any(isinstance(size, int) and size != 1 for size in sizes):
        machine.emit(TruthOfMany(node, record.node.op == "gradient"))


def _said_to_be_none(node: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """Yield what an `assert` says to be None, if that is all that it says."""
    match node:
        case cst.Assert(test=cst.Comparison(left=read, comparisons=[cst.ComparisonTarget(cst.Is(), cst.Name("None"))])):
            yield read


def run_assume(machine: Machine, states: list[State], instr: Assume) -> list[State]:
    """assert: a path on which the test is false ends, and is not followed."""
    kept: list[State] = []
    for state in states:
        test = machine.read(state, instr.test)
        for read in _said_to_be_none(instr.node):
            machine.announce(state, GradientTested(instr.node, read, asserted=True))
        if machine.transforms:
            refuses_test(machine, state, test, getattr(instr.node, "test", instr.node))
        refuses_truth(machine, state, test, getattr(instr.node, "test", instr.node))
        if truth(state, test) is False:
            machine.exits.append(Exit("raise", state))
        else:
            assume(state, test, True)
            kept.append(state)
    return kept


def _leave(kind: str) -> Callable[[Machine, list[State], Instr], list[State]]:
    def step(machine: Machine, states: list[State], instr: Instr) -> list[State]:
        machine.exits.extend(Exit(kind, state) for state in states)
        return []

    return step


splitting(If, run_if)
splitting(Assume, run_assume)
splitting(Break, _leave("break"))
splitting(Continue, _leave("continue"))
splitting(Raise, _leave("raise"))
