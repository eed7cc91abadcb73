"""A program with instruments in it: calls that note a value on its way, and pass it on."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Mapping, Sequence

from gradlint.confirm.check.places import GIVEN, STRAINED, WATCHED, Place, Watcher, call, instrument, name_instruments
from gradlint.confirm.prepare.candidates import Sketch, statement
from gradlint.confirm.prepare.script import render
from gradlint.confirm.prepare.syntax import blocks_of, is_name

LOSS, ASKED, ITERATION = "noted", "asked", "end_of_iteration"
INSTRUMENTS = frozenset({LOSS, ASKED, WATCHED, ITERATION, STRAINED, GIVEN})


def instrumented(
    sketch: Sketch,
    places: Sequence[Place],
    *,
    losses: bool,
    asked: bool = True,
    loss_rows: Collection[int] | None = None,
    loop_row: int | None = None,
    names: Mapping[str, str] | None = None,
) -> tuple[Sketch, int]:
    """Return a copy in which some places are watched, and how many of them were found.

    With `losses` each loss that is walked is noted, with `asked` also what gradients are asked of; with `loss_rows`
    only the losses that are walked there. With `loop_row` the value that a statement there accumulates is noted at the
    end of each iteration of its loop. `names` are other names for the instruments, by those that they have.
    """
    tree = ast.Module(copy.deepcopy(sketch.body), [])
    found = loop_row is not None and _note_iterations(tree, loop_row)
    watcher = Watcher(places)
    watcher.visit(tree)
    if losses:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (loss_rows is None or getattr(node, "lineno", 0) in loss_rows):
                _note_loss(node, asked)
    name_instruments(tree, names or {})
    return Sketch(tree.body, list(sketch.holes), sketch.dropped, sketch.removed), found + watcher.found


def _note_loss(node: ast.Call, asked: bool) -> None:
    """Note the value whose graph `loss.backward()`, `torch.autograd.backward(loss)` or `grad` walks."""
    if not isinstance(node.func, ast.Attribute):
        return
    text = ast.unparse(node.func)
    if node.func.attr == "backward" and not text.endswith("autograd.backward"):
        node.func.value = call(LOSS, node.func.value)
    elif node.func.attr == "backward" and node.args:
        node.args[0] = call(LOSS, node.args[0])
    elif asked and node.func.attr == "grad" and node.args and "autograd" in text:
        node.args[0] = call(ASKED, node.args[0])


def _note_iterations(tree: ast.Module, row: int) -> bool:
    """Put a note at the end of the innermost loop around a row; without one, each call is an iteration."""
    loops = (node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While)))
    around = (node for node in loops if node.lineno < row <= (node.end_lineno or 0))
    loop = max(around, key=lambda node: node.lineno, default=None)
    for block in (block for node in ast.walk(tree) for block in blocks_of(node)):
        for index, node in enumerate(block):
            kept = _kept_by(node) if getattr(node, "lineno", 0) == row else None
            if kept is not None:
                owner = kept.value if isinstance(kept, ast.Attribute) else kept
                note = statement(f"{ITERATION}({ast.unparse(kept)}, {ast.unparse(owner)})")
                assert isinstance(note, ast.Expr) and isinstance(note.value, ast.Call), "the note is a call"
                note.value.func = instrument(ITERATION, ast.Load())
                (block if loop is None else loop.body).insert(index + 1 if loop is None else len(loop.body), note)
                return True
    return False


def _kept_by(node: ast.stmt) -> ast.expr | None:
    """Return what a statement makes larger: `total += loss`, `losses.append(loss)`, `state = f(state)`."""
    match node:
        case ast.Assign([kept, *_]) | ast.AugAssign(kept) | ast.Expr(ast.Call(ast.Attribute(kept))):
            return kept
    return None


class _Removed(ast.NodeTransformer):
    def __init__(self, names: Collection[str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replace the call of an instrument by its argument."""
        self.generic_visit(node)
        return node.args[0] if is_name(node.func, *self._names) else node


def without_instruments(text: str, names: Collection[str]) -> list[str]:
    """Return the lines of a program without some of the instruments."""
    tree = ast.parse(text)
    _Removed(names).visit(tree)
    return [line.text for line in render(tree.body).lines]
