"""Which names of a program are bound where, and which are bound nowhere that may be run."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cached_property

from gradlint.confirm.gate import admit
from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.prepare.kinds import Parents

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
