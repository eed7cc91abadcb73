"""Methods of base classes that train with what a subclass defines: its hooks, or its own step in their loop."""

from __future__ import annotations

from gradlint.domain.state import State
from gradlint.domain.value import Class, Function, Ref
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, linear_bases
from gradlint.interpreter.world.training import TRAINING
from gradlint.source.lower.syntax import asks_itself, attributes_in


def templates_of(machine: Machine, state: State, cls: Ref, record: Class) -> list[Function]:
    """Return the inherited methods that train by a class, those first that call others.

    They call a method of the class that trains; or they train, and call methods that do nothing in the base class.
    """
    own = {name: value for name, value in record.attrs.items() if isinstance(value, Function) and name != "__init__"}
    called = {name for name, value in own.items() if value.code.node in machine.program.backpropagating}
    filled: list[Function] = []
    others: list[Function] = []
    for base in linear_bases(state, cls)[1:] if own else ():
        given = state.heap.get(base.id) if isinstance(base, Ref) else None
        methods = [one for one in given.attrs.values() if isinstance(one, Function)] if isinstance(given, Class) else []
        hooks = {one.code.name for one in methods if one.code.is_empty}
        for method in methods if hooks or called else ():
            words = attributes_in(method.code)
            if method.code.name == "__init__" or find_in_class(state, cls, method.code.name) is not method:
                continue
            if not words.isdisjoint(hooks) and not words.isdisjoint(TRAINING):
                filled.append(method)
            elif not machine.program.is_installed(method.module):
                others.append(method)
    found: list[Function] = []
    newest = filled + [one for one in others if asks_itself(one.code, called)]
    while newest:
        found = newest + found
        called.update(one.code.name for one in newest)
        newest = [one for one in others if one not in found and asks_itself(one.code, called)]
    return found
