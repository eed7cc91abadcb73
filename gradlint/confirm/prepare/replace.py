"""Made-up values in the place of what is not known, or may not be run."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Protocol, cast

from gradlint.confirm.prepare.bindings import Names
from gradlint.facts import load


class Unknowns(Protocol):
    """Who knows what is not known, and makes up values for it."""

    def is_unknown(self, names: Names, node: ast.Name) -> bool:
        """Return whether nothing is known of what a name holds."""

    def made_up(self, node: ast.expr, names: Names) -> ast.expr:
        """Return what stands for an expression that is not known."""


class Replacer(ast.NodeTransformer):
    """Puts made-up values where the longest chain of attributes, calls, and indices starts at something unknown."""

    def __init__(self, unknowns: Unknowns, names: Names, bad: Collection[ast.AST]) -> None:
        self._unknowns = unknowns
        self._names = names
        self._bad = bad

    def visit(self, node: ast.AST) -> ast.AST:
        """Chains are looked at from outside in."""
        if isinstance(node, (ast.Attribute, ast.Call, ast.Subscript, ast.Name)) and self._is_bad(node):
            stays = isinstance(node, ast.Name) and self._names.binder(node, node.id) is not None
            if stays or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                return node
            return self._unknowns.made_up(node, self._names)
        visited = super().visit(node)
        return cast(ast.AST, visited)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """A write to an attribute of something unknown is left out."""
        if any(self._is_bad(target) for target in node.targets if not isinstance(target, ast.Name)):
            return None
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt] | None:
        """Remove a call of something unknown for its effect; keep what its arguments do."""
        if not self._is_bad(node.value):
            return self.generic_visit(node)
        inner = node.value
        arguments = [*inner.args, *(word.value for word in inner.keywords)] if isinstance(inner, ast.Call) else []
        kept = [argument for argument in arguments if any(isinstance(part, ast.Call) for part in ast.walk(argument))]
        return [self._kept(ast.copy_location(ast.Expr(argument), node)) for argument in kept]

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        """An unknown context is left out, its body is not."""
        known = [item for item in node.items if not self._is_bad(item.context_expr)]
        if known:
            node.items = known
            return self.generic_visit(node)
        block = ast.Module(node.body, [])
        self.generic_visit(block)
        return block.body

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove decorators that are not known."""
        node.decorator_list = [one for one in node.decorator_list if not self._is_bad(one)]
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Replace an unknown base: by a module where the class computes, else by nothing."""
        node.decorator_list = [one for one in node.decorator_list if not self._is_bad(one)]
        known = [base for base in node.bases if not self._is_bad(base)]
        if len(known) < len(node.bases) and not known and _computes(node):
            known = [
                ast.Attribute(ast.Attribute(ast.Name("torch", ast.Load()), "nn", ast.Load()), "Module", ast.Load())
            ]
        node.bases, node.keywords = known, []
        return self.generic_visit(node)

    def _kept(self, statement: ast.stmt) -> ast.stmt:
        kept = self.generic_visit(statement)
        assert isinstance(kept, ast.stmt), "a statement stays one"
        return kept

    def _is_bad(self, node: ast.AST) -> bool:
        """Return whether a chain starts at something unknown, or has a refused part that is all of its beginning."""
        while True:
            if node in self._bad and not isinstance(node, ast.stmt):
                return True
            if isinstance(node, ast.Call):
                node = node.func
            elif isinstance(node, (ast.Attribute, ast.Subscript)):
                node = node.value
            else:
                break
        return isinstance(node, ast.Name) and self._unknowns.is_unknown(self._names, node)


def _computes(node: ast.ClassDef) -> bool:
    """Return whether a class has what modules have: a forward, or parts that are modules."""
    return any(
        (isinstance(part, ast.FunctionDef) and part.name in ("forward", "training_step"))
        or (isinstance(part, ast.Attribute) and (part.attr == "parameters" or f"nn.{part.attr}" in load()))
        for part in ast.walk(node)
    )


def fill_empty(tree: ast.AST) -> None:
    """A block that lost all of its statements passes."""
    blocks = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.ExceptHandler)
    for node in ast.walk(tree):
        if isinstance(node, blocks):
            node.body = node.body or [ast.Pass()]
