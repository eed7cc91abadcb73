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
        decorators = getattr(statement, "decorator_list", ())
        rows = [min(one.lineno for one in (statement, *decorators)), statement.end_lineno or statement.lineno]
        for name in dict.fromkeys(_bound_by(statement)):
            if type(statement) in _CERTAIN:
                names[name] = [rows]
            else:
                names.setdefault(name, []).append(rows)
        for name in dict.fromkeys(_changed_by(statement)):
            if name in names:
                names[name].append(rows)
        stars += _stars(statement)
    for found in _GLOBAL.findall(text):
        for name in re.findall(r"\w+", found):
            names.pop(name, None)
    return Index({name: _merged(rows) for name, rows in names.items()}, stars)


_CERTAIN = frozenset(
    {*(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef), *(ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)}
)
"""Statements after which what has bound a name before does not matter."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _bound_by(node: ast.AST) -> Iterator[str]:
    """Yield the names that a statement binds in its own scope."""
    if isinstance(node, _SCOPES):
        yield node.name
        return
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name.partition(".")[0]
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    if isinstance(node, (ast.stmt, ast.Tuple, ast.List, ast.Starred, ast.ExceptHandler, ast.withitem)):
        for child in ast.iter_child_nodes(node):
            yield from _bound_by(child)


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
