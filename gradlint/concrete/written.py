"""The text of a program that runs: its syntax trees, and which of its expressions stand for an object."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from functools import lru_cache
from types import FrameType
from typing import Any

from torch import nn

from gradlint.concrete.places import Places, Spot

_ABSENT = object()


@lru_cache(maxsize=64)
def tree_of(filename: str) -> ast.Module | None:
    """Return the tree of a file, as Python has read it; None if there is none."""
    try:
        return ast.parse("".join(linecache.getlines(filename)))
    except (SyntaxError, ValueError):
        return None


def nodes_of(filename: str) -> Iterator[ast.AST]:
    """Yield all nodes of a file."""
    tree = tree_of(filename)
    if tree is not None:
        yield from ast.walk(tree)


def spot_of(filename: str, node: ast.expr | ast.stmt) -> Spot:
    """Return the place of a node."""
    return Spot(filename, (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset))


def value_of(expression: ast.expr, frame: FrameType) -> Any:
    """Return what a name, or a chain of attributes, stands for in a frame; None if that is not known.

    No code of the program runs: a property has no value here.
    """
    if isinstance(expression, ast.Name):
        return frame.f_locals.get(expression.id, frame.f_globals.get(expression.id))
    if not isinstance(expression, ast.Attribute):
        return None
    owner = value_of(expression.value, frame)
    if owner is None:
        return None
    found = inspect.getattr_static(owner, expression.attr, _ABSENT)
    if found is _ABSENT and isinstance(owner, nn.Module):
        return vars(owner).get("_modules", {}).get(expression.attr)
    return None if found is _ABSENT or inspect.isdatadescriptor(found) else found


def own_frames(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of the user's own code, from the innermost outwards."""
    while frame is not None:
        if Places.is_own(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back
