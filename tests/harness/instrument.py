"""Programs with a `reveal` behind each assignment, so that every value in them is compared with torch's."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def revealing(code: str) -> str:
    """The program with `reveal(name)` behind each statement that binds or writes the name."""
    return ast.unparse(ast.fix_missing_locations(_Revealing().visit(ast.parse(code)))) + "\n"


class _Revealing(ast.NodeTransformer):
    """Adds statements behind assignments, wherever they stand."""

    def visit_Assign(self, node: ast.Assign) -> list[ast.stmt]:
        """`a = b, c = value` binds each name of each target; `a[0] = value` writes to `a`."""
        return [node, *_reveals(name for target in node.targets for name in _names(target))]

    def visit_AugAssign(self, node: ast.AugAssign) -> list[ast.stmt]:
        """`a += value` writes or rebinds `a`."""
        return [node, *_reveals(_names(node.target))]

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        """`a.add_(value)` may write to `a`; any other method reveals it once more, which does no harm."""
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
            return [node, *_reveals(_names(call.func.value))]
        return [node]

    # The body of a class holds names for its instances, which mean nothing by themselves.
    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Only the methods of a class are looked into."""
        node.body = [self.visit(part) if isinstance(part, ast.FunctionDef) else part for part in node.body]
        return node


def _names(target: ast.expr) -> Iterator[str]:
    """The names that a target binds, or whose value it writes to."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            yield from _names(part)
    elif isinstance(target, (ast.Subscript, ast.Starred)):
        yield from _names(target.value)


def _reveals(names: Iterator[str]) -> list[ast.stmt]:
    return [ast.parse(f"reveal({name})").body[0] for name in dict.fromkeys(names)]
