"""A program with instruments in it: calls that note a value on its way, and pass it on."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator

from gradlint.confirm.script import render
from gradlint.confirm.sketch import Sketch, statement
from gradlint.domain.finding import Span

LOSS, VALUE, TURN = "noted", "watched", "end_of_turn"


def instrumented(
    sketch: Sketch, watched: Collection[Span], *, losses: bool, loop_row: int | None = None
) -> tuple[Sketch, int]:
    """A copy in which the expressions at some places are watched, and with `losses` each loss that is walked is noted.

    With `loop_row` the value that a statement there accumulates is noted at the end of each turn of its loop. The
    number says how many places were found.
    """
    body = copy.deepcopy(sketch.body)
    tree = ast.Module(body, [])
    changer = _Instruments({_key(span) for span in watched}, losses)
    changer.visit(tree)
    found = changer.found
    if loop_row is not None:
        found += _note_turns(tree, loop_row)
    return Sketch(tree.body, list(sketch.holes), sketch.dropped), found


class _Instruments(ast.NodeTransformer):
    def __init__(self, places: set[tuple[int, int, int, int]], losses: bool) -> None:
        self._places = places
        self._losses = losses
        self.found = 0

    def visit(self, node: ast.AST) -> ast.AST:
        """Expressions are looked at behind their parts."""
        visited = super().visit(node)
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load):
            if self._losses and isinstance(node, ast.Call):
                _note_loss(node)
            if _place(node) in self._places:
                self.found += 1
                return _call(VALUE, node)
        assert isinstance(visited, ast.AST), "nothing is taken out"
        return visited


def _note_loss(node: ast.Call) -> None:
    """`loss.backward()` walks the graph of a value, and so do `torch.autograd.backward(loss)` and `grad`."""
    if not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr == "backward" and not ast.unparse(node.func).endswith("autograd.backward"):
        node.func.value = _call(LOSS, node.func.value)
    elif node.func.attr in ("backward", "grad") and node.args and "autograd" in ast.unparse(node.func):
        node.args[0] = _call(LOSS, node.args[0])


def _call(name: str, node: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), [node], [])


def _note_turns(tree: ast.Module, row: int) -> int:
    """Put a note at the end of the innermost loop around a row; without one, each call is a turn."""
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While)) and _holds(node, row)]
    loop = max(around, key=lambda node: node.lineno, default=None)
    for block in _blocks(tree):
        for index, node in enumerate(block):
            kept = _kept_by(node) if getattr(node, "lineno", 0) == row else None
            if kept is not None:
                note = statement(f"{TURN}({kept})")
                (block if loop is None else loop.body).insert(index + 1 if loop is None else len(loop.body), note)
                return 1
    return 0


def _blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield block


def _kept_by(node: ast.stmt) -> str | None:
    """What a statement makes larger: `total += loss`, `losses.append(loss)`, `state = f(state)`."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0])
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return ast.unparse(node.value.func.value)
    return None


def _holds(node: ast.stmt, row: int) -> bool:
    return node.lineno < row <= (node.end_lineno or 0)


def _key(span: Span) -> tuple[int, int, int, int]:
    return span.start.row, span.start.column, span.end.row, span.end.column


def _place(node: ast.expr) -> tuple[int, int, int, int] | None:
    if not hasattr(node, "lineno"):
        return None
    return node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1


class _Removed(ast.NodeTransformer):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """An instrument passes on what it is given."""
        self.generic_visit(node)
        named = isinstance(node.func, ast.Name) and node.func.id in self._names
        return node.args[0] if named else node


def without_instruments(text: str, names: Collection[str]) -> list[str]:
    """The lines of a program without some of the instruments."""
    tree = ast.parse(text)
    _Removed(names).visit(tree)
    return [line.text for line in render(tree.body).lines]
