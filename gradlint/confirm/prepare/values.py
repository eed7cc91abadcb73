"""What a program computes on its way, by the names of its variables: a safe fix leaves that as it is."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping

from gradlint.confirm.check.places import call
from gradlint.confirm.prepare.script import Script
from gradlint.confirm.run.sandbox import Sandbox

_NOTED = """\
import torch
numbers_by_name = {}
def number_noted(name, value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        numbers_by_name.setdefault(name, []).append(float(value.detach().double().sum()))
    elif isinstance(value, float):
        numbers_by_name.setdefault(name, []).append(value)
    return value
"""
_MOST_NAMES = 40
_LONGEST = 500
_CLOSE = 1e-4

Numbers = Mapping[str, tuple[float, ...]]
"""The sums of the tensors, and the numbers, that were assigned to each name, in order."""


def forward_values(sandbox: Sandbox, script: Script, seconds: float, slips: tuple[str, ...] = ()) -> Numbers:
    """Return what a run assigns to its variables, up to its end or error; nothing of one without a result."""
    tree = ast.parse(script.text)
    noter = _Noter()
    noter.visit(tree)
    names = sorted(noter.names)[:_MOST_NAMES]
    probes = tuple(f"' '.join(f'{{one:.8g}}' for one in numbers_by_name.get({name!r}, []))" for name in names)
    text = _NOTED + ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    ran = sandbox.run(text, probes, seconds=seconds, slips=slips)
    texts = {name: value.value for name, value in zip(names, ran.values, strict=False)}
    return {name: _numbers(text) for name, text in texts.items() if isinstance(text, str)}


def agree(before: Numbers, after: Numbers) -> bool:
    """Return whether two runs assign the same numbers to the same names, as far as both come; one of them at least.

    What was no finite number before did not work.
    """
    both = [(before[name], after[name]) for name in before if name in after]
    pairs = [pair for one, other in both for pair in zip(one, other, strict=False)]
    worked = [pair for pair in pairs if math.isfinite(pair[0])]
    return all(_is_close(*pair) for pair in worked) and (len(pairs) > 0 or not any(before.values()))


def _numbers(text: str) -> tuple[float, ...]:
    words = text.split()
    # What is cut off may be half a number.
    return tuple(map(float, words[:-1] if len(text) >= _LONGEST else words))


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=1e-6)


class _Noter(ast.NodeTransformer):
    """Notes what is assigned to names."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """On its way into the variable."""
        target = node.targets[0]
        if isinstance(target, ast.Name):
            self.names.add(target.id)
            node.value = call("number_noted", ast.Constant(target.id), node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AugAssign | list[ast.stmt]:
        """When it is there."""
        if not isinstance(node.target, ast.Name):
            return node
        name = node.target.id
        self.names.add(name)
        return [node, ast.Expr(call("number_noted", ast.Constant(name), ast.Name(name, ast.Load())))]
