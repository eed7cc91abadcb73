"""Questions about the syntax of a program that several parts of confirmation ask."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

_BLOCKS = ("body", "orelse", "finalbody")


def root_of(node: ast.AST) -> str:
    """Return the variable at the beginning of a chain of attributes and indices; nothing where there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def name_of(func: ast.expr) -> str:
    """Return the last name of what is called."""
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Iterate over the blocks of one statement, those of its arms last."""
    for owner in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from (block for name in _BLOCKS if isinstance(block := getattr(owner, name, None), list))


def header_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Iterate over the nodes of a statement apart from the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def is_main_guard(node: ast.stmt) -> TypeGuard[ast.If]:
    """Return whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
