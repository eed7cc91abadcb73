"""What stands on the left of an assignment."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.source.core import Copy, Delete, Dest, Operand, SetAttr, SetItem, StoreOuter, Unpack
from gradlint.source.lower.expression import LOWERINGS, lower_expression, lower_index
from gradlint.source.lower.scope import Scope


def simple_dest(scope: Scope, target: cst.BaseExpression) -> Dest | None:
    """Return the variable, where the target is a plain local one that an instruction can write to itself."""
    if isinstance(target, cst.Name) and not scope.is_outer(target.value):
        return scope.renames.get(target.value, target.value)
    return None


def assign(scope: Scope, node: cst.CSTNode, target: cst.BaseExpression, value: Operand) -> None:
    """target = value"""
    if isinstance(target, cst.Name):
        name = target.value
        if scope.is_outer(name):
            scope.emit(StoreOuter(node, name, value, name in scope.globals))
        else:
            scope.emit(Copy(node, scope.renames.get(name, name), value))
    elif isinstance(target, cst.Attribute):
        obj = lower_expression(scope, target.value)
        scope.emit(SetAttr(node, obj, target.attr.value, value))
    elif isinstance(target, cst.Subscript):
        obj = lower_expression(scope, target.value)
        scope.emit(SetItem(node, obj, lower_index(scope, target), value))
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(scope, node, target, value)
    else:
        raise AssertionError(f"no assignment to {type(target).__name__}")


def _unpack(scope: Scope, node: cst.CSTNode, target: cst.Tuple | cst.List, value: Operand) -> None:
    dests: list[Dest] = []
    star = -1
    later: list[tuple[cst.BaseExpression, Dest]] = []
    for position, element in enumerate(target.elements):
        if isinstance(element, cst.StarredElement):
            star = position
        dest = simple_dest(scope, element.value)
        if dest is None:
            dest = scope.temp()
            later.append((element.value, dest))
        dests.append(dest)
    scope.emit(Unpack(node, dests, star, value))
    for inner, dest in later:
        assign(scope, node, inner, dest)


def delete(scope: Scope, node: cst.CSTNode, target: cst.BaseExpression) -> None:
    """del target"""
    if isinstance(target, cst.Name):
        scope.emit(Delete(node, None, name=scope.renames.get(target.value, target.value)))
    elif isinstance(target, cst.Attribute):
        scope.emit(Delete(node, lower_expression(scope, target.value), name=target.attr.value))
    elif isinstance(target, cst.Subscript):
        obj = lower_expression(scope, target.value)
        scope.emit(Delete(node, obj, index=lower_index(scope, target)))
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            delete(scope, node, element.value)


def target_names(target: cst.BaseExpression) -> Iterator[str]:
    """Yield the variables that a target binds."""
    if isinstance(target, cst.Name):
        yield target.value
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from target_names(element.value)


def _named(scope: Scope, node: cst.NamedExpr, dest: Dest | None) -> Operand:
    value = lower_expression(scope, node.value)
    assign(scope, node, node.target, value)
    return scope.copied(node, value, dest)


LOWERINGS[cst.NamedExpr] = _named
