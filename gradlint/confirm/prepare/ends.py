"""Where a program ends itself: what may not be run, as `sys.exit`, is replaced by what does the same and may be."""

from __future__ import annotations

import ast
import re

from gradlint.confirm.prepare.candidates import statement
from gradlint.confirm.prepare.paths import Paths
from gradlint.confirm.prepare.script import unused_name
from gradlint.confirm.prepare.syntax import is_name

AT_ONCE = "the process ends at once"
"""The message of the exception that stands for an end that nothing in the program can stop."""

_ENDS = re.compile(r"sys\.exit|builtins\.(?:exit|quit)|unittest\.main")
_ENDS_AT_ONCE = re.compile(
    r"(?:os|posix|nt)\.(?:_exit|abort|kill|killpg|exec[a-z]+)|signal\.(?:raise_signal|pthread_kill|alarm|setitimer)"
)


def may_end(tree: ast.Module) -> bool:
    """Return whether a program mentions what would end it before the end of its text."""
    paths = Paths(tree)
    return any(isinstance(node, ast.expr) and ends(paths.of(node)) for node in ast.walk(tree))


def keep_ends(tree: ast.Module) -> None:
    """Let a program, which is changed, end where it would; at the end of its text only what is passed is computed."""
    paths = Paths(tree)
    tree.body[-1:] = [part for last in tree.body[-1:] for part in _without_end(last, paths)]
    text = ast.unparse(tree)
    ender = _Ender(paths, unused_name("end_program", text), unused_name("end_process", text))
    ender.visit(tree)
    for name, given in ((ender.softly, ""), (ender.at_once, f"({AT_ONCE!r})")):
        if name in ender.used:
            tree.body.insert(0, statement(f"def {name}(*given, **words):\n    raise SystemExit{given}"))


def ends(path: str) -> bool:
    """Return whether what stands at a dotted path ends a program."""
    return _ENDS.fullmatch(path) is not None or _ENDS_AT_ONCE.fullmatch(path) is not None


def _without_end(last: ast.stmt, paths: Paths) -> list[ast.stmt]:
    match last:
        case ast.Expr(ast.Call(func, given)) | ast.Raise(ast.Call(func, given)) if _ENDS.fullmatch(
            paths.of(func)
        ) or is_name(func, "SystemExit"):
            kept: list[ast.stmt] = [ast.copy_location(ast.Expr(one), last) for one in given]
            return kept or [ast.copy_location(ast.Pass(), last)]
    return [last]


class _Ender(ast.NodeTransformer):
    """Puts a function of ours in the place of each that ends a program, also where it is only handed on."""

    def __init__(self, paths: Paths, softly: str, at_once: str) -> None:
        self._paths = paths
        self.softly, self.at_once = softly, at_once
        self.used: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        """Visit from outside in: `sys.exit` is one thing."""
        if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load):
            path = self._paths.of(node)
            name = self.softly if _ENDS.fullmatch(path) else self.at_once if _ENDS_AT_ONCE.fullmatch(path) else ""
            if name:
                self.used.add(name)
                return ast.copy_location(ast.Name(name, ast.Load()), node)
        visited: ast.AST = super().visit(node)
        return visited
