"""Programs of two files, as one text: the helpers, a line that separates them, and the program that imports them.

Lines are counted in the whole text, so that what is said of a program by its lines means the same for both files.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

HELPERS = "helpers"
SEPARATOR = f"# --- what stands above is {HELPERS}.py\n"


def halves(source: str) -> tuple[str, str]:
    """Return the helpers, empty if there are none, and the program, in which blank lines stand for the helpers."""
    above, separator, below = source.partition(SEPARATOR)
    if not separator:
        return "", source
    return above, "\n" * (above.count("\n") + 1) + below


def in_two_files(source: str) -> str:
    """Move the definitions that need nothing but imports, constants and each other into a file of their own."""
    tree = ast.parse(source)
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    constants = [node for node in tree.body if _is_constant(node)]
    moved = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and _can_move(node)]
    others = {name for node in tree.body if node not in (*imports, *constants, *moved) for name in _bound(node)}
    while any(leaning := [node for node in moved if _free(node) & others]):
        moved = [node for node in moved if node not in leaning]
        others |= {node.name for node in leaning}
    if not moved or not imports:
        return source
    names = ", ".join(node.name for node in moved)
    kept = [node for node in tree.body if node not in moved]
    after = kept.index(imports[-1]) + 1
    above = [_text(source, node) for node in (*imports, *constants, *moved)]
    imported = f"from {HELPERS} import {names}"
    below = [*(_text(source, node) for node in kept[:after]), imported, *(_text(source, node) for node in kept[after:])]
    return "\n".join(above) + "\n" + SEPARATOR + "\n".join(below) + "\n"


def _text(source: str, node: ast.stmt) -> str:
    decorators = node.decorator_list if isinstance(node, (ast.FunctionDef, ast.ClassDef)) else []
    first = min([node.lineno, *(one.lineno for one in decorators)])
    return "\n".join(source.split("\n")[first - 1 : node.end_lineno])


def _is_constant(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant) and isinstance(node.targets[0], ast.Name)
    )


def _can_move(node: ast.FunctionDef | ast.ClassDef) -> bool:
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
        elif isinstance(one, (ast.FunctionDef, ast.ClassDef)):
            yield one.name


def _free(node: ast.stmt) -> set[str]:
    """Return the names that a definition takes from its module: those that nothing in it binds."""
    inside = list(ast.walk(node))
    own = {*_bound(node), *(one.arg for one in inside if isinstance(one, ast.arg))}
    return {one.id for one in inside if isinstance(one, ast.Name)} - own
