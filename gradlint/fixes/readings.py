"""Where an assignment reads what it assigns: `h` in `out, h = cell(x, h)`."""

from __future__ import annotations

import libcst as cst


def readings_of(assign: cst.Assign, node: cst.CSTNode) -> list[cst.BaseExpression]:
    """The readings, inside the value, of the names and attributes that an assignment to one target sets.

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
    """What is assigned, as source; a part of something, such as an item of a list, is left out."""
    if isinstance(target, (cst.Tuple, cst.List)):
        return [source for element in target.elements for source in _sources(element.value)]
    return [cst.Module([]).code_for_node(target)] if isinstance(target, (cst.Name, cst.Attribute)) else []


class _Readings(cst.CSTVisitor):
    """Names and attributes of certain sources; neither names behind a dot nor those of arguments are read."""

    def __init__(self, sources: set[str]) -> None:
        self.sources = sources
        self.readings: list[cst.BaseExpression] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.Name, cst.Attribute)):
            if cst.Module([]).code_for_node(node) in self.sources:
                self.readings.append(node)
                return False
            if isinstance(node, cst.Attribute):
                node.value.visit(self)
                return False
        if isinstance(node, cst.Arg):
            node.value.visit(self)
            return False
        return not isinstance(node, cst.Lambda)
