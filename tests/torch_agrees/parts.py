"""Statements cut in parts, with what each part reads, binds, needs from before, and gives on."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from .program import Program


@dataclass(frozen=True)
class Part:
    """Consecutive statements. `needs` are bound by earlier parts, `gives` are read by later ones."""

    lines: list[str]
    reads: list[str]
    binds: list[str]
    needs: list[str]
    gives: list[str]


def cut(p: Program) -> list[Part]:
    """Cut the program's statements in two or three parts; in none if there are too few."""
    statements = ast.parse("\n".join(p.body)).body
    if len(statements) < 3:
        return []
    cuts = sorted(p.rng.sample(range(1, len(statements)), min(p.pick(1, 1, 2), len(statements) - 1)))
    groups = [statements[i:j] for i, j in zip([0, *cuts], [*cuts, len(statements)], strict=True)]
    scopes = [_Scope.of(group) for group in groups]
    return [_part(p.body, group, scopes, index) for index, group in enumerate(groups)]


def _part(body: list[str], group: list[ast.stmt], scopes: list[_Scope], index: int) -> Part:
    scope = scopes[index]
    before = {name for earlier in scopes[:index] for name in earlier.binds}
    after = {name for later in scopes[index + 1 :] for name in later.reads}
    return Part(
        body[group[0].lineno - 1 : group[-1].end_lineno],
        list(scope.reads),
        list(scope.binds),
        [name for name in scope.reads if name in before],
        [name for name in scope.binds if name in after],
    )


class _Scope(ast.NodeVisitor):
    """Collects the names that statements read and bind in their own scope, in order of appearance."""

    def __init__(self) -> None:
        self.reads: dict[str, None] = {}
        self.binds: dict[str, None] = {}
        self._inner: list[set[str]] = []

    @classmethod
    def of(cls, statements: Sequence[ast.stmt]) -> _Scope:
        """Return the scope of these statements."""
        scope = cls()
        for statement in statements:
            scope.visit(statement)
        return scope

    def visit_Name(self, node: ast.Name) -> None:
        """Count a name unless an inner scope owns it."""
        if not any(node.id in inner for inner in self._inner):
            (self.reads if isinstance(node.ctx, ast.Load) else self.binds)[node.id] = None

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Count the target of an augmented assignment as read and bound."""
        if isinstance(node.target, ast.Name):
            self.reads[node.target.id] = None
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Arguments are the lambda's own."""
        self._within({argument.arg for argument in node.args.args}, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """A function's name is bound here, its arguments and what it binds are its own."""
        self.binds[node.name] = None
        own = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)}
        self._within(own | {argument.arg for argument in node.args.args}, node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """A class's name is bound here."""
        self.binds[node.name] = None
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> None:
        """The variables of a comprehension are its own."""
        targets = [inner for generator in node.generators for inner in ast.walk(generator.target)]
        self._within({inner.id for inner in targets if isinstance(inner, ast.Name)}, node)

    visit_GeneratorExp = visit_DictComp = visit_ListComp

    def _within(self, names: set[str], node: ast.AST) -> None:
        self._inner.append(names)
        self.generic_visit(node)
        self._inner.pop()


def replaced(part: Part, names: set[str], template: str) -> list[str] | None:
    """Return the lines with every one of the names put into the template, say `self.{}`.

    None if one stands where only a name may: arguments of a lambda, a comprehension, an f-string, a def.
    """
    lines = list(part.lines)
    tree = ast.parse("\n".join(lines))
    if any(_holds_back(node, names) for node in ast.walk(tree)):
        return None
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    for node in sorted(found, key=lambda node: (node.lineno, node.col_offset), reverse=True):
        line = lines[node.lineno - 1]
        end = node.col_offset + len(node.id)
        lines[node.lineno - 1] = line[: node.col_offset] + template.format(node.id) + line[end:]
    return lines


def _holds_back(node: ast.AST, names: set[str]) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return True
    held: ast.AST | None = None
    if isinstance(node, (ast.For, ast.comprehension)):
        held = node.target
    elif isinstance(node, ast.JoinedStr):
        # Before Python 3.12 the places of names in f-strings are not known.
        held = node
    elif isinstance(node, ast.Lambda):
        held = node.args
    if held is None:
        return False
    inside = (getattr(inner, "id", getattr(inner, "arg", None)) for inner in ast.walk(held))
    return any(name in names for name in inside)
