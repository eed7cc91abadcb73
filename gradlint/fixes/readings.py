"""Who reads what an assignment assigns: itself, as `h` in `out, h = cell(x, h)`, or the statements after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from gradlint.source.lower.syntax import code_of


def readings_of(assign: cst.Assign, node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return the readings, inside the value, of the names and attributes that an assignment to one target sets.

    The node is that value, or one of several that are assigned side by side.
    """
    value = assign.value
    sides = [element.value for element in value.elements] if isinstance(value, cst.Tuple) else [value]
    if len(assign.targets) != 1 or not any(side is node for side in sides):
        return []
    found = _Readings(set(_sources(assign.targets[0].target)))
    node.visit(found)
    return found.readings


def _sources(target: cst.BaseExpression) -> list[str]:
    """Return what is assigned, as source; a part of something, such as an item of a list, is left out."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return [source for element in target.elements for source in _sources(element.value)]
    return [code_of(target)] if isinstance(target, (cst.Name, cst.Attribute)) else []


class _Readings(cst.CSTVisitor):
    """Names and attributes of certain sources; neither names after a dot nor those of arguments are read."""

    def __init__(self, sources: set[str]) -> None:
        self.sources = sources
        self.readings: list[cst.BaseExpression] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Name, cst.Attribute)) and code_of(node) in self.sources:
            self.readings.append(node)
            return False
        if isinstance(node, (cst.Attribute, cst.Arg)):
            node.value.visit(self)
            return False
        return not isinstance(node, cst.Lambda)


def read_as_number(name: str, statements: Sequence[cst.BaseStatement]) -> bool:
    """Return whether one of the statements calls `name.item()` or `float(name)`."""
    nodes = (node for statement in statements for node in nodes_in(statement))
    return any(isinstance(node, cst.Call) and _makes_number(node, name) for node in nodes)


def nodes_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and all below it; `libcst.matchers` can do so, too, and takes 0.4 s to import."""
    yield node
    for child in node.children:
        yield from nodes_in(child)


def _makes_number(node: cst.Call, name: str) -> bool:
    func = node.func
    made = func.value if isinstance(func, cst.Attribute) and func.attr.value == "item" else None
    if isinstance(func, cst.Name) and func.value in ("float", "int") and len(node.args) == 1:
        made = node.args[0].value
    return isinstance(made, cst.Name) and made.value == name


def needing(first: cst.BaseStatement, others: Sequence[cst.BaseStatement]) -> Sequence[cst.BaseStatement] | None:
    """Return the statements down to the last that reads what the first assigns, or what is computed from that.

    None where one of them trains, which needs a graph, where one defines something, and where the first is the end or
    hands its value to an object, which others read later. A flag of what is read later is no such value.
    """
    found = _names_of(first)
    if found.ends or found.handed_on:
        return None
    names, last = set(found.assigned), 0
    for index, statement in enumerate(others):
        found = _names_of(statement)
        if not names.isdisjoint(found.read):
            names |= found.assigned
            last = index + 1
    needed = others[:last]
    return None if any(_names_of(statement).trains for statement in needed) else needed


def _names_of(statement: cst.BaseStatement) -> _Names:
    found = _Names()
    statement.visit(found)
    return found


class _Names(cst.CSTVisitor):
    """The names that statements read and assign; an attribute or an item counts as the name that it is of."""

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.assigned: set[str] = set()
        self.trains = False
        self.ends = False
        self.handed_on = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Name):
            self.read.add(node.value)
        elif isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.For)):
            self.assigned |= _bases(node.target)
            of_self = isinstance(node.target, cst.Attribute) and "self" in _bases(node.target)
            self.handed_on = self.handed_on or of_self
        elif isinstance(node, cst.Return):
            self.ends = True
        elif isinstance(node, (cst.FunctionDef, cst.ClassDef)):
            self.trains = True
        elif isinstance(node, (cst.Attribute, cst.Arg)):
            self.trains |= isinstance(node, cst.Attribute) and node.attr.value in _TRAINING
            node.value.visit(self)
            return False
        return True


_TRAINING = frozenset({"backward", "step", "grad"})


def _bases(target: cst.BaseExpression) -> set[str]:
    """Return the names that a target binds, or of whose objects it changes a part."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return {name for element in target.elements for name in _bases(element.value)}
    while isinstance(target, (cst.Attribute, cst.Subscript)):
        target = target.value
    return {target.value} if isinstance(target, cst.Name) else set()
