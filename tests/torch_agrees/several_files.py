"""Programs of several files, as one text: a line below each file names it, and the program comes last.

Lines are counted in the whole text, so that what is said of a program by its lines means the same for each file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

PROGRAM = "program.py"
SEPARATOR = "# --- what stands above is {}\n"
_END = re.compile(SEPARATOR.format(r"(\S+)"))

Definition = ast.FunctionDef | ast.ClassDef


class File(NamedTuple):
    """A file of a program: its path, and its text, in which blank lines stand for the files above."""

    path: str
    text: str

    @property
    def module(self) -> str:
        """The name by which other files import it."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def files_of(source: str) -> list[File]:
    """Return the files, in the order in which they can be executed; the last is the program."""
    *above, program = _END.split(source)
    pairs = [*zip(above[1::2], above[::2], strict=True), (PROGRAM, program)]
    files: list[File] = []
    lines = 0
    for path, text in pairs:
        files.append(File(path, "\n" * lines + text))
        lines += text.count("\n") + 1
    return files


def has_several(source: str) -> bool:
    """Tell whether the program has more than one file."""
    return _END.search(source) is not None


def in_two_files(source: str) -> str:
    """Move the definitions that need nothing but imports, constants and each other into a file of their own."""
    moved = _movable(ast.parse(source))
    if not moved:
        return source
    return _above(source, "helpers.py", moved) + _program(source, moved, "from helpers import {}")


def in_a_package(source: str) -> str:
    """Move the first of these definitions, and the rest, into two files of a package that names both."""
    moved = _movable(ast.parse(source))
    first = _closed(moved[: (len(moved) + 1) // 2], moved)
    rest = [node for node in moved if node not in first]
    if not first or not rest:
        return in_two_files(source)
    named = f"from .layers import {_names(first)}\n"
    return (
        _above(source, "parts/layers.py", first)
        + _above(source, "parts/steps.py", rest, named)
        + f"{named}from .steps import {_names(rest)}\n"
        + SEPARATOR.format("parts/__init__.py")
        + _program(source, moved, "from parts import {}")
    )


def _above(source: str, path: str, moved: Sequence[Definition], imported: str = "") -> str:
    tree = ast.parse(source)
    needed = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom)) or _is_constant(node)]
    lines = [_text(source, node) for node in needed]
    return "\n".join([*lines, imported + "\n".join(_text(source, node) for node in moved), SEPARATOR.format(path)])


def _program(source: str, moved: Sequence[Definition], imported: str) -> str:
    tree = ast.parse(source)
    gone = {node.lineno for node in moved}
    kept = [node for node in tree.body if not isinstance(node, Definition) or node.lineno not in gone]
    after = max(i for i, node in enumerate(kept) if isinstance(node, (ast.Import, ast.ImportFrom))) + 1
    lines = [_text(source, node) for node in kept]
    return "\n".join([*lines[:after], imported.format(_names(moved)), *lines[after:]]) + "\n"


def _names(definitions: Sequence[Definition]) -> str:
    return ", ".join(node.name for node in definitions)


def _movable(tree: ast.Module) -> list[Definition]:
    """Return the definitions that need nothing but imports, constants and each other."""
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    constants = [node for node in tree.body if _is_constant(node)]
    moved = [node for node in tree.body if isinstance(node, Definition) and _can_move(node)]
    others = {name for node in tree.body if node not in (*imports, *constants, *moved) for name in _bound(node)}
    return _without_leaning(moved, others) if imports else []


def _closed(some: Sequence[Definition], among: Sequence[Definition]) -> list[Definition]:
    """Return those of some definitions that need none of the others."""
    return _without_leaning(some, {node.name for node in among if node not in some})


def _without_leaning(definitions: Sequence[Definition], others: set[str]) -> list[Definition]:
    left = list(definitions)
    while leaning := [node for node in left if _free(node) & others]:
        left = [node for node in left if node not in leaning]
        others = others | {node.name for node in leaning}
    return left


def _text(source: str, node: ast.stmt) -> str:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return "\n".join(source.split("\n")[first - 1 : node.end_lineno])


def _is_constant(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.targets[0], ast.Name)
    )


def _can_move(node: Definition) -> bool:
    """Tell whether a definition may stand elsewhere: one that sets globals may not.

    A class whose methods train is taken to do so more than once where nobody in its file makes one.
    """
    inside = list(ast.walk(node))
    trains = any(isinstance(one, ast.Attribute) and one.attr == "backward" for one in inside)
    return not any(isinstance(one, ast.Global) for one in inside) and not (isinstance(node, ast.ClassDef) and trains)


def _bound(node: ast.stmt) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            yield one.id
        elif isinstance(one, ast.Global):
            yield from one.names
        elif isinstance(one, Definition):
            yield one.name


def _free(node: ast.stmt) -> set[str]:
    """Return the names that a definition takes from its module: those that nothing in it binds."""
    inside = list(ast.walk(node))
    own = {*_bound(node), *(one.arg for one in inside if isinstance(one, ast.arg))}
    return {one.id for one in inside if isinstance(one, ast.Name)} - own
