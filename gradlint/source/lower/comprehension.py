"""Comprehensions are loops that append to an accumulator; their variables get names of their own.

A generator expression that goes straight into a call is walked there and then, and read as such a loop, too. One that
is kept for later is a function: its first iterable is evaluated where it stands, all else when it is walked.
"""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.source.core import (
    Append,
    Arg,
    Call,
    Code,
    Dest,
    For,
    If,
    Make,
    MakeDict,
    MakeFunction,
    Operand,
    Param,
    Yield,
)
from gradlint.source.lower.expression import lower_expression, nested
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.target import assign, target_names

Comprehension: TypeAlias = "cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp"


def lower_comprehension(scope: Scope, node: Comprehension) -> Operand:
    """A list, set or dict built by a loop; a generator expression that is walked at once is read as a list."""
    out = scope.temp()
    if isinstance(node, cst.DictComp):
        scope.emit(MakeDict(node, out, []))
    else:
        kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}[type(node)]
        scope.emit(Make(node, out, kind, []))
    outer = scope.renames
    scope.renames = dict(outer)
    _clause(scope, node, node.for_in, out)
    scope.renames = outer
    return out


def lower_kept(scope: Scope, node: cst.GeneratorExp, dest: Dest | None) -> Operand:
    """A generator expression that is assigned or returned: nothing of it is run before somebody walks it."""
    first = lower_expression(scope, node.for_in.iter)
    function, out = scope.temp(), scope.temp() if dest is None else dest
    code = Code("<genexpr>", node, [Param(_FIRST, "", False, False, None, node)], scope.renames)
    scope.emit(MakeFunction(node, function, code, {}))
    scope.emit(Call(node, out, function, [Arg(first)]))
    return out


_FIRST = ".0"
"""The parameter for the first iterable, as Python calls it."""


def lower_walk(scope: Scope, node: cst.GeneratorExp) -> None:
    """The body of a generator expression that was kept."""
    scope.code.is_generator = True
    _clause(scope, node, node.for_in, None, _FIRST)


def _clause(
    scope: Scope, node: Comprehension, clause: cst.CompFor, out: Operand | None, iterable: Operand | None = None
) -> None:
    if iterable is None:
        iterable = lower_expression(scope, clause.iter)
    for name in target_names(clause.target):
        # A dot cannot stand in a variable's name, so the renamed one meets no other.
        scope.renames[name] = f"{name}.{scope.temp()}"
    item = scope.temp()

    def body() -> None:
        assign(scope, clause, clause.target, item)
        _filtered(scope, node, clause, list(clause.ifs), out)

    scope.emit(For(clause, iterable, item, nested(scope, body), []))


def _filtered(
    scope: Scope, node: Comprehension, clause: cst.CompFor, filters: list[cst.CompIf], out: Operand | None
) -> None:
    if filters:
        test = lower_expression(scope, filters[0].test)
        then = nested(scope, lambda: _filtered(scope, node, clause, filters[1:], out))
        scope.emit(If(filters[0], test, then, []))
    elif clause.inner_for_in is not None:
        _clause(scope, node, clause.inner_for_in, out)
    elif out is None:
        assert isinstance(node, cst.GeneratorExp)
        scope.emit(Yield(node, scope.temp(), lower_expression(scope, node.elt), False))
    elif isinstance(node, cst.DictComp):
        key = lower_expression(scope, node.key)
        scope.emit(Append(node, out, lower_expression(scope, node.value), key))
    else:
        scope.emit(Append(node, out, lower_expression(scope, node.elt)))
