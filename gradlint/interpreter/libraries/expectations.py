"""Failures and warnings that a program asks for: `pytest.raises`, `assertRaises` of unittest and their like."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Args, Context, Unknown, Value
from gradlint.interpreter.machine import Machine

RAISING = frozenset({"assertRaises", "assertRaisesRegex", "assertRaisesRegexp"})
WARNING = frozenset({"assertWarns", "assertWarnsRegex", "assertWarnsOnceRegex", "warns"})


def expected_failure(machine: Machine, state: State, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Call what is given after the error with its arguments; return a context where there is no callable.

    What the callable does before it fails is not followed further: the test goes on with what it had.
    """
    first = 2 if name in _WITH_PATTERN else 1
    if name in WARNING:
        return Context("warned") if len(args.positional) <= first else Unknown()
    if len(args.positional) <= first:
        return Context("expecting")
    return _call_expecting(machine, state, args._replace(positional=args.positional[first:]), node)


_WITH_PATTERN = frozenset({"assertRaisesRegex", "assertRaisesRegexp", "assertWarnsRegex", "assertWarnsOnceRegex"})


def _call_expecting(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    keywords = {name: value for name, value in args.keywords.items() if name != "msg"}
    rest = Args(args.positional[1:], keywords, args.open, args.hidden)
    machine.expected += 1
    aside = state.fork()
    region = machine.open(aside)
    first_exit = len(machine.exits)
    machine.call(aside, args.positional[0], rest, node)
    del machine.exits[first_exit:]
    machine.close([aside], region)
    machine.expected -= 1
    return None


def raises(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """pytest.raises(error, ...)"""
    return expected_failure(machine, state, "raises", args, node)


def catch_warnings(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """warnings.catch_warnings(record=False): only one that records looks at what it catches."""
    return Context("warned") if args.get(0, "record", False) is True else Unknown()
