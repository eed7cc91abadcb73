"""Which rows of a file bind which name at its top level, by CPython's own parser."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gradlint.source.parse import find_python2


class Index(NamedTuple):
    """The names that a file binds, each with the rows of the statements that do, and what it imports all names of."""

    names: dict[str, list[list[int]]]
    stars: list[str]


class Unread(NamedTuple):
    """Why a file is not read."""

    why: str


EMPTY = Index({}, [])

_GLOBAL = re.compile(r"^[ \t]+global[ \t]+(.+)$", re.MULTILINE)


def index_of(text: str) -> Index | Unread:
    """Return the index of a text.

    What a function declares as `global` is left out: its value is that of another moment.
    """
    if "\0" in text:
        return Unread("it contains a NUL byte")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        row = error.lineno or 1
        old = find_python2(text, row)
        return Unread(f"line {row if old is None else old[1]}: {'this is Python 2' if old is not None else error.msg}")
    except (ValueError, RecursionError, MemoryError):
        return Unread("Python cannot parse it")
    names: dict[str, list[list[int]]] = {}
    stars: list[str] = []
    for statement in tree.body:
        binders: dict[str, list[ast.stmt]] = {}
        for name, binder in _binders(statement, statement):
            binders.setdefault(name, []).append(binder)
        for name, by in binders.items():
            if all(isinstance(one, _IMPORTS) for one in by):
                names[name] = [_rows(by[0])]  # Of several ways to import something the first is the usual one.
            elif type(statement) in _CERTAIN:
                names[name] = [_rows(statement)]
            else:
                names.setdefault(name, []).append(_rows(statement))
        for name in dict.fromkeys(_changed_by(statement)):
            if name in names:
                names[name].append(_rows(statement))
        stars += _stars(statement)
    for found in _GLOBAL.findall(text):
        for name in re.findall(r"\w+", found):
            names.pop(name, None)
    return Index({name: _merged(rows) for name, rows in names.items()}, stars)


_IMPORTS = (ast.Import, ast.ImportFrom)
_CERTAIN = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign})
"""Statements after which what has bound a name before does not matter."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _rows(statement: ast.stmt) -> list[int]:
    """Return the first and the last row of a statement."""
    decorators: Iterable[ast.expr] = getattr(statement, "decorator_list", ())
    return [min((statement.lineno, *(one.lineno for one in decorators))), statement.end_lineno or statement.lineno]


def _binders(node: ast.AST, inside: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """Yield the names that a part of a statement binds in its scope, each with the innermost statement that does."""
    if isinstance(node, _SCOPES):
        yield node.name, node
    elif isinstance(node, _IMPORTS):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name.partition(".")[0], node
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id, inside
    elif isinstance(node, (ast.stmt, ast.Tuple, ast.List, ast.Starred, ast.ExceptHandler, ast.withitem)):
        for child in ast.iter_child_nodes(node):
            yield from _binders(child, node if isinstance(node, ast.stmt) else inside)


def _changed_by(statement: ast.stmt) -> Iterator[str]:
    """Yield the names whose values a statement changes: `table[key] = value`, `names.append(name)`."""
    targets: Iterable[ast.expr] = ()
    if isinstance(statement, ast.Assign):
        targets = (one for one in statement.targets if isinstance(one, (ast.Subscript, ast.Attribute)))
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        targets = (statement.value.func,) if isinstance(statement.value.func, ast.Attribute) else ()
    for target in targets:
        root = target
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        if isinstance(root, ast.Name):
            yield root.id


def _stars(node: ast.stmt) -> Iterator[str]:
    """Yield the modules, with their dots, from which a statement imports all names."""
    if isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
        yield "." * node.level + (node.module or "")
    elif isinstance(node, (ast.If, ast.Try)):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _stars(child)


def _merged(rows: list[list[int]]) -> list[list[int]]:
    """Return rows in order, each once: two statements may stand in one row."""
    merged: list[list[int]] = []
    for first, last in rows:
        if not merged or first > merged[-1][1]:
            merged.append([first, last])
    return merged
