"""What is left out of a program and may have made torch another one: after that nothing shows what the program does."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.gate.admit import refused
from gradlint.confirm.prepare.paths import Paths
from gradlint.confirm.prepare.syntax import is_name, name_of, root_of

_OWNED = re.compile(r"(?:torch|builtins)(?:\..*)?")
_OBJECT = re.compile(r"torch|torch(?:\.[a-z_]\w*)*(?:\.[A-Z]\w*|\._(?!_)\w+)")
"""A class of torch, or a module."""

_DOTTED = re.compile(r"torch(?:\.\w+)+")
_MOCKS = re.compile(r"(?:unittest\.)?mock\.patch\b.*|pytest\.MonkeyPatch\b.*")
_DOES_ANYTHING = re.compile(r"builtins\.(?:exec|eval)|sys\.(?:settrace|setprofile|_getframe)|ctypes\b.*|gc\.get_\w+")
_READS = re.compile(r"importlib\..*|inspect\..*|logging\..*|typing\..*|pickle\..*")
_SETTINGS = re.compile(
    r"torch\.(?:_(?!foreach_)|.*\._|set_|__future__\.|overrides\.|library\.|autograd\.(?:set_|grad_mode\.|graph\.)).*"
)
"""Functions of torch by which autograd works in another way, or the types of results are others."""

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OF_TORCH = frozenset({"__torch_function__", "__torch_dispatch__", "__getattribute__", "__init_subclass__"})


def alteration(tree: ast.Module, row: int, slips: Collection[str] = ()) -> str | None:
    """Return what a program does that is left out, and after which torch or Python may be another; None for nothing.

    Looked at is what may run before the row: the statements outside of functions, and functions whose names these or
    the function around the row mention. `slips` are names that nothing has.
    """
    paths, bad = Paths(tree), refused(tree, (), slips)
    for node in on_the_way(tree, row):
        if (said := _altering(node, paths, bad)) is not None:
            return f"line {getattr(node, 'lineno', 0)} is left out, and {said}"
    return None


def _altering(node: ast.AST, paths: Paths, bad: frozenset[ast.AST]) -> str | None:
    if isinstance(node, ast.FunctionDef) and node.name in _OF_TORCH:
        return f"`{node.name}` may change what torch does"
    if isinstance(node, (ast.Attribute, ast.Name)) and _MOCKS.fullmatch(paths.of(node)):
        return "it replaces objects"
    if isinstance(node, ast.Call):
        return _calling(node, paths, bad)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.withitem)):
        value = getattr(node, "value", None)
        if any(_is_replaced(target, value, paths, bad) for target in _stored(node)):
            return "it replaces objects"
    return None


def _stored(node: ast.AST) -> Iterator[ast.Attribute | ast.Subscript]:
    for part in ast.iter_child_nodes(node):
        for one in ast.walk(part):
            if isinstance(one, (ast.Attribute, ast.Subscript)) and not isinstance(one.ctx, ast.Load):
                yield one


def _is_replaced(target: ast.Attribute | ast.Subscript, value: object, paths: Paths, bad: frozenset[ast.AST]) -> bool:
    """Return whether a write is left out and is one to an object of torch or Python, or one of code to any object."""
    owner = paths.of(target.value)
    if isinstance(target, ast.Subscript):
        of_class = isinstance(target.value, ast.Call) and is_name(target.value.func, "vars", "globals", "locals")
        return of_class or owner == "sys.modules" or _OBJECT.fullmatch(owner) is not None
    if f"{owner}.{target.attr}" in allowed.SETTABLE:
        return False
    of_torch = _OWNED.fullmatch(owner) is not None
    return of_torch or (target in bad and not _is_own(target.value) and not _is_data(value))


def _is_data(value: object) -> bool:
    """Return whether a value is certainly no code."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.BinOp():
            return True
        case ast.UnaryOp(_, inner) | ast.Subscript(inner):
            return _is_data(inner) or isinstance(value, ast.Subscript)
        case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
            return all(map(_is_data, parts))
        case ast.Call(ast.Name("int" | "float" | "str" | "bool" | "len" | "max" | "min" | "list" | "dict" | "tuple")):
            return True
    return False


def _calling(node: ast.Call, paths: Paths, bad: frozenset[ast.AST]) -> str | None:
    path = paths.of(node.func)
    if _DOES_ANYTHING.fullmatch(path):
        return "it may do anything"
    if is_name(node.func, "setattr", "delattr") and node.args:
        return "it replaces objects" if _sets(node, paths, bad) else None
    if path.startswith("torch.") and node.func in bad:
        return "it may change what torch does" if _SETTINGS.fullmatch(path) else None
    if not path or path.startswith("builtins.") or _READS.fullmatch(path) or allowed.is_allowed(path):
        return None
    return "it is given an object of torch, and may change it" if any(_gives(one, paths) for one in node.args) else None


def _sets(node: ast.Call, paths: Paths, bad: frozenset[ast.AST]) -> bool:
    """Return whether `setattr` or `delattr` is left out and may alter torch; an object's own parts are not torch's."""
    if _OWNED.fullmatch(paths.of(node.args[0])):
        return True
    named = len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    given = node.args[2] if named and len(node.args) > 2 else None
    return node in bad and not _is_own(node.args[0]) and not _is_data(given)


def _is_own(node: ast.expr) -> bool:
    """Return whether this is an object of the program's own, or a part of it."""
    return root_of(node) in ("self", "ctx")


def _gives(node: ast.expr, paths: Paths) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and _DOTTED.fullmatch(node.value) is not None
    path = paths.of(node)
    return path in allowed.MODULES or (path != "" and _OBJECT.fullmatch(path) is not None)


def on_the_way(tree: ast.Module, row: int) -> Iterator[ast.AST]:
    """Yield the nodes that may be executed before a row, as far as names tell."""
    functions: dict[str, list[ast.AST]] = {}
    waiting: list[ast.AST] = [tree]
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            unnamed = node.name.startswith("__") or node.name in ("forward", "backward")
            if unnamed or node.lineno <= row <= (node.end_lineno or 0):
                waiting.extend(node.body)
            else:
                functions.setdefault(node.name, []).extend(node.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            waiting.extend([*node.decorator_list, node.args])
        else:
            waiting.extend(ast.iter_child_nodes(node))
        waiting.extend(functions.pop(name_of(node), ()) if isinstance(node, ast.expr) else ())
