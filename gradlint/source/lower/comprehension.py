"""Comprehensions are loops that append to an accumulator; their variables get names of their own.

A generator expression that goes straight into a call is run there and then, and read as such a loop, too. One that is
kept for later is a function: its first iterable is evaluated where it stands, all else when it is iterated over.
"""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

import gradlint.source.core as core
from gradlint.source.core import Dest, Operand
from gradlint.source.lower.expression import LOWERINGS, lower_expression, nested
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.target import assign, target_names

Comprehension: TypeAlias = "cst.ListComp | cst.SetComp | cst.DictComp | cst.GeneratorExp"


def lower_comprehension(scope: Scope, node: Comprehension) -> Operand:
    """Return a list, set or dict built by a loop; a generator expression that is run at once is read as a list."""
    out = scope.temp()
    copied = _copied(node)
    if copied is not None:
        method = scope.define(core.Attr(node, scope.temp(), lower_expression(scope, copied), "copy"))
        return scope.define(core.Call(node, out, method, []))
    if isinstance(node, cst.DictComp):
        scope.emit(core.MakeDict(node, out, []))
    else:
        kind = {cst.ListComp: "list", cst.SetComp: "set", cst.GeneratorExp: "generator"}[type(node)]
        scope.emit(core.Make(node, out, kind, []))
    outer = scope.renames
    scope.renames = dict(outer)
    _clause(scope, node, node.for_in, out)
    scope.renames = outer
    return out


def _copied(node: Comprehension) -> cst.BaseExpression | None:
    """Return the state dict that `{name: value for name, value in model.state_dict().items()}` is a shallow copy of."""
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


def lower_kept(scope: Scope, node: cst.GeneratorExp, dest: Dest | None) -> Operand:
    """Return a generator expression that is assigned or returned: nothing of it is run until then."""
    first = lower_expression(scope, node.for_in.iter)
    code = core.Code("<genexpr>", node, [core.Param(_FIRST, "", False, False, None, node)], scope.renames)
    function = scope.define(core.MakeFunction(node, scope.temp(), code, {}))
    return scope.define(core.Call(node, scope.out(dest), function, [core.Arg(first)]))


_FIRST = ".0"
"""The parameter for the first iterable, as Python calls it."""


def lower_generator(scope: Scope, node: cst.GeneratorExp) -> None:
    """Lower the body of a generator expression that was kept."""
    scope.code.is_generator = True
    _clause(scope, node, node.for_in, None, _FIRST)


def _clause(
    scope: Scope, node: Comprehension, clause: cst.CompFor, out: Operand | None, iterable: Operand | None = None
) -> None:
    if iterable is None:
        iterable = lower_expression(scope, clause.iter)
    for name in target_names(clause.target):
        scope.rename(name)
    item = scope.temp()

    def body() -> None:
        assign(scope, clause, clause.target, item)
        _filtered(scope, node, clause, list(clause.ifs), out)

    scope.emit(core.For(clause, iterable, item, nested(scope, body), []))


def _filtered(
    scope: Scope, node: Comprehension, clause: cst.CompFor, filters: list[cst.CompIf], out: Operand | None
) -> None:
    if filters:
        test = lower_expression(scope, filters[0].test)
        then = nested(scope, lambda: _filtered(scope, node, clause, filters[1:], out))
        scope.emit(core.If(filters[0], test, then, []))
    elif clause.inner_for_in is not None:
        _clause(scope, node, clause.inner_for_in, out)
    elif out is None:
        assert isinstance(node, cst.GeneratorExp)
        scope.emit(core.Yield(node, scope.temp(), lower_expression(scope, node.elt), False))
    elif isinstance(node, cst.DictComp):
        key = lower_expression(scope, node.key)
        scope.emit(core.Append(node, out, lower_expression(scope, node.value), key))
    else:
        scope.emit(core.Append(node, out, lower_expression(scope, node.elt)))


def _comprehension(scope: Scope, node: Comprehension, dest: Dest | None) -> Operand:
    return scope.copied(node, lower_comprehension(scope, node), dest)


LOWERINGS.update(dict.fromkeys((cst.ListComp, cst.SetComp, cst.DictComp, cst.GeneratorExp), _comprehension))
