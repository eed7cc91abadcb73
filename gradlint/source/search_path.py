"""The folders that a script adds to `sys.path`, as far as its text says which: nothing of it is run."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from gradlint.source.read import decode, read_bytes


def added_folders(file: str, bases: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders, in order; a relative one stands below one of `bases`, whichever the script is run from."""
    content = read_bytes(Path(file), _LARGEST)
    text = decode(content) if isinstance(content, bytes) and b"sys.path" in content else None
    if not isinstance(text, str):
        return ()
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    texts = _Texts(tree, file)
    found = (texts.read(node) for node in _added(tree))
    joined = (os.path.join(base, text) for text in found if text for base in bases)
    return tuple(dict.fromkeys(map(os.path.normpath, joined)))


def _added(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield what is given to `append`, `insert` and `extend` of `sys.path`, and to `+=`."""
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="sys"), attr="path"), value=listed):
                yield from getattr(listed, "elts", ())
            case ast.Call(func=ast.Attribute(ast.Attribute(ast.Name(id="sys"), "path"), "extend"), args=[listed]):
                yield from getattr(listed, "elts", ())
            case ast.Call(func=ast.Attribute(ast.Attribute(ast.Name(id="sys"), "path"), "append"), args=[one]):
                yield one
            case ast.Call(func=ast.Attribute(ast.Attribute(ast.Name(id="sys"), "path"), "insert"), args=[_, one]):
                yield one


_SAME = frozenset(
    {"abspath", "realpath", "normpath", "str", "Path", "PurePath", "resolve", "absolute", "as_posix", "fspath"}
)
"""Calls that give the path that they are given."""

_DEPTH = 30

_LARGEST = 500_000
"""Of a longer file, in bytes, it is not known what it adds."""


class _Texts:
    """What expressions over `__file__` come to; None for those that are not known."""

    def __init__(self, tree: ast.Module, file: str) -> None:
        self._file = file
        self._names = {
            target.id: node.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    def read(self, node: ast.expr, depth: int = 0) -> str | None:
        """Return the path that an expression stands for."""
        if depth > _DEPTH:
            return None
        match node:
            case ast.Constant(value=str(text)):
                return text
            case ast.Name(id="__file__"):
                return self._file
            case ast.Name(id=name) if name in self._names:
                return self.read(self._names[name], depth + 1)
            case ast.Attribute(attr="pardir"):
                return os.pardir
            case ast.Attribute(value=value, attr="parent"):
                return self._above(value, 1, depth)
            case ast.Subscript(value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(index))):
                return self._above(value, index + 1, depth)
            case ast.BinOp(left=left, op=ast.Div() | ast.Add(), right=right):
                begin, end = self.read(left, depth + 1), self.read(right, depth + 1)
                if begin is None or end is None:
                    return None
                return os.path.join(begin, end) if isinstance(node.op, ast.Div) else begin + end
            case ast.Call(func=ast.Attribute(value=value, attr="joinpath"), args=args):
                return self._joined([value, *args], depth)
            case ast.Call(func=ast.Attribute(attr="join"), args=args):
                return self._joined(args, depth)
            case ast.Call(func=ast.Attribute(attr="dirname"), args=[value]):
                return self._above(value, 1, depth)
            case ast.Call(func=ast.Attribute(attr="getcwd" | "cwd")):
                return os.curdir
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[value]) if name in _SAME:
                return self.read(value, depth + 1)
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[]) if name in _SAME:
                return self.read(value, depth + 1)
        return None

    def _above(self, node: ast.expr, levels: int, depth: int) -> str | None:
        text = self.read(node, depth + 1)
        return None if text is None else os.path.normpath(os.path.join(text, *[os.pardir] * levels))

    def _joined(self, nodes: list[ast.expr], depth: int) -> str | None:
        parts = [self.read(node, depth + 1) for node in nodes]
        return os.path.join(*[part or "" for part in parts]) if parts and None not in parts else None
