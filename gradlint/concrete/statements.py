"""Statements that compute what nobody has afterwards. The text of the lines that have run is read at the end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch
from torch import nn

from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Watcher
from gradlint.concrete.written import nodes_of, spot_of
from gradlint.domain.fault.inplace import LoopVariableAssigned
from gradlint.domain.fault.training_loop import ResultDiscarded


class Statements(Watcher):
    """Looks at the lines at which the program has called torch itself."""

    def seen(self) -> Iterator[Seen]:
        """Yield results that are discarded, and parameters that a loop over them does not change."""
        files: dict[str, list[Place]] = {}
        for place in self.places.visited:
            if place.key not in self.places.indirect and not place.filename.startswith("<"):
                files.setdefault(place.filename, []).append(place)
        for name, places in files.items():
            ranges, rows = {place.range for place in places}, {place.row for place in places}
            for node in nodes_of(name):
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
                    spot, op = spot_of(name, node.value), _twin(node.value)
                    if op and spot.range in ranges:
                        yield Seen(ResultDiscarded, spot, {"name": op, "alike": True})
                elif isinstance(node, ast.For) and "parameters()" in ast.unparse(node.iter):
                    for one in () if _is_read_after(node, name) else _rebound(node):
                        if not rows.isdisjoint(range(one.lineno, (one.end_lineno or one.lineno) + 1)):
                            yield Seen(LoopVariableAssigned, spot_of(name, one), {})


def _twin(call: ast.Call) -> str | None:
    """Return the method that is called, if torch has one of this name that writes to its input, and modules none."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else "_"
    is_computed = hasattr(torch.Tensor, f"{name}_") and not name.endswith("_") and not hasattr(nn.Module, name)
    return name if is_computed and not any(one.arg == "out" for one in call.keywords) else None


def _rebound(loop: ast.For) -> Iterator[ast.Assign]:
    """Yield the assignments of a value made of a variable of a loop to itself, where nothing reads it afterwards."""
    names = {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    for at, node in enumerate(loop.body):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if not isinstance(node, ast.Assign) or not isinstance(target, ast.Name) or target.id not in names:
            continue
        if not isinstance(node.value, (ast.BinOp, ast.Call)):
            continue  # An attribute is only looked up.
        read = {one.id for later in loop.body[at + 1 :] for one in ast.walk(later) if isinstance(one, ast.Name)}
        own = {one.id for one in ast.walk(node.value) if isinstance(one, ast.Name)}
        if target.id in own - read:
            yield node


def _is_read_after(loop: ast.For, filename: str) -> bool:
    """Return whether a variable of a loop may be read after it: it is not given another value first."""
    end = loop.end_lineno or loop.lineno
    for variable in {one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)}:
        later = (one for one in nodes_of(filename) if isinstance(one, ast.Name) and one.id == variable)
        first = min(
            (one for one in later if one.lineno > end), key=lambda one: (one.lineno, one.col_offset), default=None
        )
        if first is not None and isinstance(first.ctx, ast.Load):
            return True
    return False
