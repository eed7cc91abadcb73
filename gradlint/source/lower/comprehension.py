"""Comprehensions are loops that append to an accumulator; their variables get names of their own."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.source.core import Append, Attr, Call, For, If, Make, MakeDict, Operand
from gradlint.source.lower.expression import lower_expression, nested
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.target import assign, target_names

Comprehension: TypeAlias = "cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp"


def lower_comprehension(scope: Scope, node: Comprehension) -> Operand:
    """A list, set or dict built by a loop; a generator expression is read as a list."""
    out = scope.temp()
    copied = _copied(node)
    if copied is not None:
        method = scope.temp()
        scope.emit(Attr(node, method, lower_expression(scope, copied), "copy"))
        scope.emit(Call(node, out, method, []))
        return out
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


def _copied(node: Comprehension) -> cst.BaseExpression | None:
    """The state dict that `{name: value for name, value in model.state_dict().items()}` is a shallow copy of."""
    if not isinstance(node, cst.DictComp) or node.for_in.ifs or node.for_in.inner_for_in is not None:
        return None
    target, items = node.for_in.target, node.for_in.iter
    if not isinstance(target, cst.Tuple) or not isinstance(items, cst.Call) or items.args:
        return None
    names = [element.value.value for element in target.elements if isinstance(element.value, cst.Name)]
    pair = [part.value for part in (node.key, node.value) if isinstance(part, cst.Name)]
    if len(names) != 2 or names != pair or not _is_method(items, "items"):
        return None
    assert isinstance(items.func, cst.Attribute)
    source = items.func.value
    return source if isinstance(source, cst.Call) and _is_method(source, "state_dict") else None


def _is_method(call: cst.Call, name: str) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == name


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
