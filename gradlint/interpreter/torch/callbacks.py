"""Functions of the program that torch calls itself: whether they take the arguments that torch gives them."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.functions import CallbackArguments, Role
from gradlint.domain.value import Bound, Function, Value
from gradlint.interpreter.machine import Machine


def refuses_arguments(machine: Machine, callback: Value, given: int, role: Role, node: cst.CSTNode) -> bool:
    """Report a function that does not take so many positional arguments; return True where Python raises."""
    own = isinstance(callback, Bound)
    if isinstance(callback, Bound):
        callback = callback.function
    if not isinstance(callback, Function) or takes(callback, given + own):
        return False
    machine.emit(CallbackArguments(callback.code.node, role, given, node))
    return True


def takes(function: Function, given: int) -> bool:
    """Return whether a function can be called with so many positional arguments, and no others."""
    defaults = dict(function.defaults)
    least = most = 0
    for param in function.code.params:
        if param.kind == "*":
            most = max(most, given)
        elif param.kind == "" and not param.keyword_only:
            most += 1
            least += param.name not in defaults
        elif param.keyword_only and param.kind == "" and param.name not in defaults:
            return False
    return least <= given <= most
