"""What expressions of a program lead to by dotted names: through imports, variables, and reflection with plain names.

The values are not known here; what is only computed leads nowhere.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from gradlint.confirm.prepare.bindings import bound_by
from gradlint.confirm.prepare.syntax import name_of

_LOADING = frozenset({"__import__", "import_module"})
_MOST_PASSES = 4


class Paths:
    """The dotted names that names of a program may stand for, whatever scope they are bound in."""

    def __init__(self, tree: ast.AST) -> None:
        self._paths: dict[str, str] = {}
        nodes = list(ast.walk(tree))
        for node in nodes:
            self._paths.update(_imported(node))
        self.bound = {name for node in nodes for name in bound_by(node)}
        pairs = [pair for node in nodes for pair in _assigned(node)]
        for _ in range(_MOST_PASSES):
            known = len(self._paths)
            self._paths.update(
                {name: path for name, value in pairs if name not in self._paths and (path := self.of(value))}
            )
            if len(self._paths) == known:
                break

    def of(self, node: ast.AST) -> str:
        """Return the dotted name; empty for what is computed."""
        match node:
            case ast.Name(name):
                builtin = f"builtins.{name}" if hasattr(builtins, name) and name not in self.bound else ""
                return self._paths.get(name, builtin)
            case ast.Attribute(value, attr) | ast.Call(ast.Name("getattr"), [value, ast.Constant(str(attr)), *_]) if (
                owner := self.of(value)
            ):
                return owner if attr == "__dict__" else f"{owner}.{attr}"
            case ast.Call(func, [ast.Constant(str(module)), *_]) if name_of(func) in _LOADING:
                return module
            case ast.Call(ast.Name("vars"), [value]):
                return self.of(value)
            case ast.Subscript(value, ast.Constant(str(key))) if owner := self.of(value):
                return key if owner == "sys.modules" else f"{owner}.{key}"
        return ""


def _imported(node: ast.AST) -> dict[str, str]:
    if isinstance(node, ast.Import):
        tops = ((alias, alias.name.partition(".")[0]) for alias in node.names)
        return {alias.asname or top: alias.name if alias.asname else top for alias, top in tops}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return {}


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Yield the variables that one node binds to a value as it is, loops over a display of values among them."""
    match node:
        case ast.Assign(targets, value):
            yield from (pair for target in targets for pair in _paired(target, value))
        case ast.NamedExpr(ast.Name(name), value) | ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
            yield name, value
        case ast.For(ast.Name(name), ast.Tuple(values) | ast.List(values)):
            yield from ((name, value) for value in values)
        case ast.FunctionDef(args=arguments) | ast.Lambda(args=arguments):
            given = [*arguments.posonlyargs, *arguments.args]
            with_default = given[len(given) - len(arguments.defaults) :]
            yield from ((one.arg, value) for one, value in zip(with_default, arguments.defaults, strict=True))


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(name), _:
            yield name, value
        case ((ast.Tuple(names) | ast.List(names)), (ast.Tuple(values) | ast.List(values))) if len(names) == len(
            values
        ):
            for one, other in zip(names, values, strict=True):
                yield from _paired(one, other)
