"""What stands on the left of an assignment."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.source.core import Copy, Delete, Dest, Operand, SetAttr, SetItem, StoreOuter, Unpack
from gradlint.source.lower.expression import LOWERINGS, lower_expression, lower_index
from gradlint.source.lower.scope import Scope
from gradlint.source.lower.syntax import parts


def simple_dest(scope: Scope, target: cst.BaseExpression) -> Dest | None:
    """Return the variable, where the target is a plain local one that an instruction can write to itself."""
    if isinstance(target, cst.Name) and target.value not in scope.outer:
        return scope.name(target.value)
    return None


def assign(scope: Scope, node: cst.CSTNode, target: cst.BaseExpression, value: Operand) -> None:
    """target = value"""
    if isinstance(target, cst.Name):
        name = target.value
        if name in scope.outer:
            scope.emit(StoreOuter(node, name, value, scope.outer[name]))
        else:
            scope.emit(Copy(node, scope.name(name), value))
    elif isinstance(target, cst.Attribute):
        obj = lower_expression(scope, target.value)
        scope.emit(SetAttr(node, obj, target.attr.value, value))
    elif isinstance(target, cst.Subscript):
        obj = lower_expression(scope, target.value)
        scope.emit(SetItem(node, obj, lower_index(scope, target), value))
    elif isinstance(target, (cst.Tuple, cst.List)):
        _unpack(scope, node, target, value)
    elif isinstance(target, cst.StarredElement):  # `*x = y` and `for *x in y`, which libcst parses and Python refuses.
        assign(scope, node, target.value, value)
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
        scope.emit(Delete(node, None, name=scope.name(target.value)))
    elif isinstance(target, cst.Attribute):
        scope.emit(Delete(node, lower_expression(scope, target.value), name=target.attr.value))
    elif isinstance(target, cst.Subscript):
        obj = lower_expression(scope, target.value)
        scope.emit(Delete(node, obj, index=lower_index(scope, target)))
    elif isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            delete(scope, node, element.value)
    elif isinstance(target, cst.StarredElement):
        delete(scope, node, target.value)


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


def lost_bindings(loop: cst.For) -> dict[cst.CSTNode, str]:
    """Return the assignments to a variable of the loop after which the body does not name it again, with the name."""
    names = set(target_names(loop.target))
    if not any(_assigns(line, names) for line in _statements(loop.body)):
        return {}
    search = _LastBindings(names)
    search.look(loop.body)
    return search.last


def _assigns(line: cst.BaseSmallStatement, names: set[str]) -> bool:
    target = line.targets[0].target if isinstance(line, cst.Assign) else None
    return isinstance(target, cst.Name) and target.value in names


def _statements(node: cst.CSTNode) -> Iterator[cst.BaseSmallStatement]:
    """Yield the small statements of a block, and of the blocks in it that are no loops."""
    if isinstance(node, cst.BaseSmallStatement):
        yield node
    elif isinstance(node, (cst.BaseSuite, cst.SimpleStatementLine, cst.If, cst.Else, cst.With)):
        for part in parts(node):
            yield from _statements(part)


class _LastBindings:
    """The assignments to one name alone that are the last time it is named, on the way through the source."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self.last: dict[cst.CSTNode, str] = {}

    def look(self, node: cst.CSTNode, again: bool = False) -> None:
        """Look at a node; `again`: what stands in it may be run several times."""
        kind = type(node)
        if isinstance(node, cst.Name):
            self.last = {place: name for place, name in self.last.items() if name != node.value}
        elif isinstance(node, cst.If):
            self._look_at_arms(node, again)
        elif isinstance(node, cst.Assign):
            self.look(node.value, again)
            for one in node.targets:
                self.look(one.target, again)
            target = node.targets[0].target
            if len(node.targets) == 1 and isinstance(target, cst.Name) and target.value in self._names and not again:
                self.last[node] = target.value
        else:
            for part in parts(node):
                self.look(part, again or kind in _AGAIN)

    def _look_at_arms(self, node: cst.If, again: bool) -> None:
        """Look at each arm alone: what one names, the other has not; either may follow an assignment before both."""
        self.look(node.test, again)
        before = self.last
        self.look(node.body, again)
        then, self.last = self.last, before
        if node.orelse is not None:
            self.look(node.orelse, again)
        both = then.keys() & self.last
        self.last = {place: name for place, name in (then | self.last).items() if place not in before or place in both}


_AGAIN = (cst.For, cst.While, cst.FunctionDef, cst.Lambda)
"""In an inner loop or function what stands before may be run after."""
