"""A program with instruments in it: calls that note a value on its way, and pass it on."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Sequence

from gradlint.confirm.check.places import STRAINED, WATCHED, Place, Watcher, call
from gradlint.confirm.prepare.candidates import Sketch, statement
from gradlint.confirm.prepare.script import render
from gradlint.confirm.prepare.syntax import blocks_of

LOSS, ASKED, VALUE, TURN = "noted", "asked", WATCHED, "end_of_turn"
INSTRUMENTS = frozenset({LOSS, ASKED, VALUE, TURN, STRAINED})


def instrumented(
    sketch: Sketch,
    places: Sequence[Place],
    *,
    losses: bool,
    asked: bool = True,
    loss_rows: Collection[int] | None = None,
    loop_row: int | None = None,
) -> tuple[Sketch, int]:
    """Return a copy in which some places are watched, and with `losses` each loss that is walked is noted;
    with `asked` also what gradients are asked of.

    With `loss_rows` only the losses that are walked there are. With `loop_row` the value that a statement there
    accumulates is noted at the end of each turn of its loop. The number says how many places were found.
    """
    body = copy.deepcopy(sketch.body)
    tree = ast.Module(body, [])
    found = _note_turns(tree, loop_row) if loop_row is not None else 0
    watcher = Watcher(places)
    watcher.visit(tree)
    if losses:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (loss_rows is None or getattr(node, "lineno", 0) in loss_rows):
                _note_loss(node, asked)
    return Sketch(tree.body, list(sketch.holes), sketch.dropped), found + watcher.found


def _note_loss(node: ast.Call, asked: bool) -> None:
    """`loss.backward()` walks the graph of a value, and so do `torch.autograd.backward(loss)` and `grad`."""
    if not isinstance(node.func, ast.Attribute):
        return
    text = ast.unparse(node.func)
    if node.func.attr == "backward" and not text.endswith("autograd.backward"):
        node.func.value = call(LOSS, node.func.value)
    elif node.func.attr == "backward" and node.args:
        node.args[0] = call(LOSS, node.args[0])
    elif asked and node.func.attr == "grad" and node.args and "autograd" in text:
        node.args[0] = call(ASKED, node.args[0])


def _note_turns(tree: ast.Module, row: int) -> int:
    """Put a note at the end of the innermost loop around a row; without one, each call is a turn."""
    around = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While)) and _holds(node, row)]
    loop = max(around, key=lambda node: node.lineno, default=None)
    for block in (block for node in ast.walk(tree) for block in blocks_of(node)):
        for index, node in enumerate(block):
            kept = _kept_by(node) if getattr(node, "lineno", 0) == row else None
            if kept is not None:
                owner = kept.value if isinstance(kept, ast.Attribute) else kept
                note = statement(f"{TURN}({ast.unparse(kept)}, {ast.unparse(owner)})")
                (block if loop is None else loop.body).insert(index + 1 if loop is None else len(loop.body), note)
                return 1
    return 0


def _kept_by(node: ast.stmt) -> ast.expr | None:
    """Return what a statement makes larger: `total += loss`, `losses.append(loss)`, `state = f(state)`."""
    if isinstance(node, ast.AugAssign):
        return node.target
    if isinstance(node, ast.Assign):
        return node.targets[0]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return node.value.func.value
    return None


def _holds(node: ast.stmt, row: int) -> bool:
    return node.lineno < row <= (node.end_lineno or 0)


class _Removed(ast.NodeTransformer):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the call of an instrument by its argument."""
        self.generic_visit(node)
        named = isinstance(node.func, ast.Name) and node.func.id in self._names
        return node.args[0] if named else node


def without_instruments(text: str, names: Collection[str]) -> list[str]:
    """Return the lines of a program without some of the instruments."""
    tree = ast.parse(text)
    _Removed(names).visit(tree)
    return [line.text for line in render(tree.body).lines]
