"""Which assignments in a loop only give its variable another value, that nobody reads before the next iteration."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.source.lower.syntax import parts
from gradlint.source.lower.target import target_names


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
        """What one arm names, the other has not named; an assignment before the branch may be followed by either."""
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
