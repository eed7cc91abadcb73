"""A program with fewer turns in its training loops: what a few show need not be waited for."""

from __future__ import annotations

import ast
import copy

from gradlint.confirm.prepare.candidates import Sketch, statement
from gradlint.confirm.prepare.syntax import name_of

_TURNS = 4
_TRAINS = frozenset({"backward", "step", "grad"})


def hurried(made: Sketch) -> Sketch | None:
    """Return a copy whose training loops, and those around them, end after a few iterations; None if there are none."""
    tree = ast.Module(copy.deepcopy(made.body), [])
    trainers = _trainers(tree)
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.For) and _trains(node, trainers)]
    for loop in loops:
        loop.iter = ast.Call(ast.Name("islice", ast.Load()), [loop.iter, ast.Constant(_TURNS)], [])
    if not loops:
        return None
    fewer = Sketch(tree.body, list(made.holes), made.dropped + 1)
    fewer.imports([statement("from itertools import islice")])
    return fewer


def _trainers(tree: ast.Module) -> frozenset[str]:
    """Return the functions of the program in which gradients flow, by name, also those that call one."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    found: set[str] = set()
    while True:
        more = {node.name for node in functions if node.name not in found and _trains(node, found)}
        if not more:
            return frozenset(found)
        found |= more


def _trains(node: ast.AST, trainers: set[str] | frozenset[str]) -> bool:
    return any(isinstance(part, ast.Call) and name_of(part.func) in _TRAINS | trainers for part in ast.walk(node))
