"""Which assignments in a loop only give its variable another value, that nobody reads before the next turn."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst


def lost_bindings(loop: cst.For) -> dict[cst.CSTNode, str]:
    """The assignments to a variable of the loop behind which the body does not name it again, with the name."""
    names = {name.value for name in _names(loop.target)}
    if not any(_assigns(line, names) for line in _statements(loop.body)):
        return {}
    search = _LastBindings(names)
    loop.body.visit(search)
    return {place: name for name, place in search.last.items()}


def _names(target: cst.BaseExpression) -> list[cst.Name]:
    if isinstance(target, cst.Name):
        return [target]
    if isinstance(target, (cst.Tuple, cst.List)):
        return [name for element in target.elements for name in _names(element.value)]
    return []


def _assigns(line: cst.BaseSmallStatement, names: set[str]) -> bool:
    target = line.targets[0].target if isinstance(line, cst.Assign) else None
    return isinstance(target, cst.Name) and target.value in names


def _statements(suite: cst.BaseSuite) -> Iterator[cst.BaseSmallStatement]:
    """The small statements of a block, and of the blocks in it that are no loops."""
    for line in suite.body:
        if isinstance(line, cst.SimpleStatementLine):
            yield from line.body
        elif isinstance(line, cst.BaseSmallStatement):
            yield line
        elif isinstance(line, (cst.If, cst.With)):
            yield from _statements(line.body)


class _LastBindings(cst.CSTVisitor):
    """For each name the assignment to it alone that is the last time it is named, in the order of the source."""

    def __init__(self, names: set[str]) -> None:
        super().__init__()
        self._names = names
        self._inner = 0
        self.last: dict[str, cst.CSTNode] = {}

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Name):
            self.last.pop(node.value, None)
        elif isinstance(node, cst.Assign):
            self._assign(node)
            return False
        elif isinstance(node, _AGAIN):
            self._inner += 1
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self._inner -= isinstance(original_node, _AGAIN)

    def _assign(self, node: cst.Assign) -> None:
        node.value.visit(self)
        for one in node.targets:
            one.target.visit(self)
        target = node.targets[0].target
        if len(node.targets) == 1 and isinstance(target, cst.Name) and target.value in self._names and not self._inner:
            self.last[target.value] = node


_AGAIN = (cst.For, cst.While, cst.FunctionDef, cst.Lambda)
"""In an inner loop or function what stands before may be run after."""
