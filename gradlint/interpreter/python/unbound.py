"""Variables without a value: the paths on which one is read end, and are not taken later either."""

from __future__ import annotations

import builtins

import libcst as cst

from gradlint.domain.state import State
from gradlint.interpreter.machine import Machine
from gradlint.source.core import If, Operand
from gradlint.source.lower.syntax import assigned_in, assigned_only, nodes_of


def is_unbound(machine: Machine, state: State, operand: Operand) -> bool:
    """Return whether an operand is a variable that has no value on this path: Python raises.

    A test that left it without one comes out otherwise, in this iteration and in the next, where the variable would
    have the value of the former one.
    """
    if type(operand) is not str or operand in state.locals:
        return False
    frame = state.frames[state.frame]
    if frame.function is not None:
        code = frame.function.code
        unbound = isinstance(code.node, cst.FunctionDef) and operand in assigned_only(code)
    else:
        own = state.frame == machine.program.frame and not hasattr(builtins, operand)
        unbound = own and operand in assigned_in(machine.program.nowhere)
    if unbound:
        _refute(machine, state, operand)
    return unbound


def _refute(machine: Machine, state: State, name: str) -> None:
    """Note which side of a test leads to the read of a variable without a value, if that is the test's alone."""
    tests = machine.sides.tests
    passed = [(tests[key], bool(fact)) for key, fact in state.facts.items() if type(key) is int]
    left = [(test, holds) for test, holds in passed if name in _assigned(test, not holds)]
    if not left:
        return
    last, side = left[-1]
    around = ({id(one) for one in nodes_of(_side(test, holds))} for test, holds in left[:-1])
    if all(id(last.node) in inside for inside in around):
        machine.sides.refuted.add((last, side))


def _side(test: If, holds: bool) -> cst.CSTNode:
    """Return what is done where a test holds, or where it does not; the test itself if that is nothing."""
    if not isinstance(test.node, cst.If):
        return test.node
    return test.node.body if holds else test.node.orelse or test.node.test


def _assigned(test: If, holds: bool) -> frozenset[str]:
    return assigned_in(_side(test, holds)) if isinstance(test.node, cst.If) else frozenset()
