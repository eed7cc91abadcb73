"""Comprehensions are loops that append to an accumulator; their variables get names of their own."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.source.core import Append, For, If, Make, MakeDict, Operand
from gradlint.source.lower.expression import lower_expression, nested
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.target import assign, target_names

Comprehension: TypeAlias = "cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp"


def lower_comprehension(scope: Scope, node: Comprehension) -> Operand:
    """A list, set or dict built by a loop; a generator expression is read as a list."""
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


def _clause(scope: Scope, node: Comprehension, clause: cst.CompFor, out: Operand) -> None:
    iterable = lower_expression(scope, clause.iter)
    for name in target_names(clause.target):
        # A dot cannot stand in a variable's name, so the renamed one meets no other.
        scope.renames[name] = f"{name}.{scope.temp()}"
    item = scope.temp()

    def body() -> None:
        assign(scope, clause, clause.target, item)
        _filtered(scope, node, clause, list(clause.ifs), out)

    scope.emit(For(clause, iterable, item, nested(scope, body), []))


def _filtered(scope: Scope, node: Comprehension, clause: cst.CompFor, filters: list[cst.CompIf], out: Operand) -> None:
    if filters:
        test = lower_expression(scope, filters[0].test)
        then = nested(scope, lambda: _filtered(scope, node, clause, filters[1:], out))
        scope.emit(If(filters[0], test, then, []))
    elif clause.inner_for_in is not None:
        _clause(scope, node, clause.inner_for_in, out)
    elif isinstance(node, cst.DictComp):
        key = lower_expression(scope, node.key)
        scope.emit(Append(node, out, lower_expression(scope, node.value), key))
    else:
        scope.emit(Append(node, out, lower_expression(scope, node.elt)))
