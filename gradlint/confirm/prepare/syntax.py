"""Questions about the syntax of a program that several parts of confirmation ask."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeGuard

from gradlint.domain.finding import Span

BLOCKS = ("body", "orelse", "finalbody")

SWITCHES = frozenset({"set_grad_enabled", "_set_grad_enabled"})
"""Functions that switch for all, from then on, what torch records."""

Stretch: TypeAlias = tuple[int, int, int, int]
"""First row and column, last row and column, counted from 1."""


def stretch_of(span: Span) -> Stretch:
    """Return the rows and columns of a span."""
    return span.start.row, span.start.column, span.end.row, span.end.column


def place_of(node: ast.AST) -> Stretch | None:
    """Return where an expression or statement stands; None for one that was made."""
    if not isinstance(node, (ast.expr, ast.stmt)) or not hasattr(node, "lineno"):
        return None
    return node.lineno, node.col_offset + 1, node.end_lineno or 0, (node.end_col_offset or 0) + 1


def root_of(node: ast.AST) -> str:
    """Return the variable at the beginning of a chain of attributes and indices; nothing where there is none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def dotted(node: ast.expr) -> str:
    """Return a name with attributes, `a.b`, as it is written; nothing for any other expression."""
    if isinstance(node, ast.Attribute):
        return f"{inner}.{node.attr}" if (inner := dotted(node.value)) else ""
    return node.id if isinstance(node, ast.Name) else ""


def name_of(node: ast.expr) -> str:
    """Return the last name of a dotted one."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def is_name(node: ast.AST, *names: str) -> bool:
    """Return whether a node is a variable of one of these names."""
    return isinstance(node, ast.Name) and node.id in names


def attributes_of(name: str, nodes: Iterable[ast.AST]) -> set[str]:
    """Return the attributes of a variable that some nodes read or set."""
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_name(node.value, name)}


def method_of(owner: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    """Return the method of a name that the class itself defines."""
    return next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name), None)


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    """Return the names of the parameters that may be given by position."""
    return [one.arg for one in (*function.args.posonlyargs, *function.args.args)]


def blocks_of(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Iterate over the blocks of one statement, those of its arms last."""
    for owner in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from (block for name in BLOCKS if isinstance(block := getattr(owner, name, None), list))


def header_of(statement: ast.stmt) -> Iterator[ast.AST]:
    """Iterate over the nodes of a statement apart from the statements in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def is_script(body: Iterable[ast.stmt]) -> bool:
    """Return whether a module does something when it is run, rather than only define what others use."""
    return any(isinstance(node, (ast.Expr, ast.For, ast.While, ast.With, ast.Try, ast.AugAssign)) for node in body)


def length_of(tree: ast.Module) -> int:
    """Return the lines of a program: the more there are, the more is beside the point of any finding in it."""
    return sum((node.end_lineno or 0) - node.lineno + 1 for node in tree.body)


def is_main_guard(node: ast.stmt) -> TypeGuard[ast.If]:
    """Return whether a statement is `if __name__ == "__main__"`."""
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
