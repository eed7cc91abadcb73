"""Which names of a program are bound where, and made-up values in the place of what is not known, or may not run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Protocol, cast

from gradlint.confirm.gate import admit
from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.prepare.kinds import Parents
from gradlint.facts import load

Scope = ast.AST | None
"""A module, function, or class; None for a name that nothing binds."""

_SCOPES = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


class Names:
    """The scopes of one tree, as it stands."""

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree
        self.parents = Parents(tree)
        self._bound: dict[ast.AST, set[str]] = {}
        self._global: dict[ast.AST, set[str]] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Global):
                self._global.setdefault(self.scope_of(node), set()).update(node.names)
        for node in ast.walk(tree):
            for name in bound_by(node):
                scope = self.scope_of(node)
                self._bound.setdefault(tree if name in self._global.get(scope, ()) else scope, set()).add(name)

    def scope_of(self, node: ast.AST) -> ast.AST:
        """Return the innermost scope that a node stands in."""
        while (above := self.parents.get(node)) is not None:
            node = above
            if isinstance(node, _SCOPES):
                return node
        return self.tree

    def binder(self, node: ast.AST, name: str) -> Scope:
        """Return the scope in which a name means something, seen from a node."""
        scope, first = self.scope_of(node), True
        while True:
            if name in self._global.get(scope, ()):
                return self.tree
            seen = first or not isinstance(scope, ast.ClassDef)
            if seen and name in self._bound.get(scope, ()):
                return scope
            if scope is self.tree:
                return None
            scope, first = self.scope_of(scope), False

    def names_of(self, scope: ast.AST) -> frozenset[str]:
        """Return the names that a scope binds."""
        return frozenset(self._bound.get(scope, ()))

    @cached_property
    def nowhere(self) -> frozenset[str]:
        """Names that the program uses and does not bind, harmless builtins apart."""
        return frozenset(
            node.id
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Name) and node.id not in _HARMLESS and self.binder(node, node.id) is None
        )


_HARMLESS = frozenset(name for name in dir(builtins) if name in allowed.BUILTINS) | {"__name__"}


def bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that one node binds."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from map(bound_name, node.names)
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from node.names
    else:
        yield from admit.bound_by(node)


def bound_name(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


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
        self.removed = 0
        """How many statements were removed that may have called something of the program."""

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit chains from outside in."""
        if isinstance(node, (ast.Attribute, ast.Call, ast.Subscript, ast.Name)) and self._is_bad(node):
            stays = isinstance(node, ast.Name) and self._names.binder(node, node.id) is not None
            if stays or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                return node
            return self._unknowns.made_up(node, self._names)
        visited = super().visit(node)
        return cast(ast.AST, visited)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | None:
        """Remove a write to an attribute of something unknown."""
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
        # What is given only constants calls nothing of the program; what is given nothing may look for it itself.
        names = any(isinstance(part, (ast.Name, ast.Lambda)) for one in arguments for part in ast.walk(one))
        self.removed += names or not arguments
        statements = [ast.copy_location(ast.Expr(argument), node) for argument in kept]
        return [cast(ast.stmt, self.generic_visit(statement)) for statement in statements]

    def visit_With(self, node: ast.With) -> ast.AST | list[ast.stmt]:
        """Remove an unknown context, and keep its body."""
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
            known = [ast.parse("torch.nn.Module", mode="eval").body]
        node.bases, node.keywords = known, []
        return self.generic_visit(node)

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
    """Put `pass` into each block that lost all of its statements."""
    blocks = (ast.FunctionDef, ast.ClassDef, ast.For, ast.While, ast.If, ast.With, ast.Try, ast.ExceptHandler)
    for node in ast.walk(tree):
        if isinstance(node, blocks):
            node.body = node.body or [ast.Pass()]
