"""Where a file calls something with grad mode off, as its text says."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.source.lower.syntax import parts

_OFF = frozenset({"no_grad", "inference_mode"})


def called_off(module: cst.Module) -> frozenset[str]:
    """Return the names of the functions and methods that are called in blocks and functions without grad mode."""
    if not any(name in module.code for name in _OFF):
        return frozenset()
    return frozenset(_calls(module, off=False)) - {""}


def _calls(node: cst.CSTNode, *, off: bool) -> Iterator[str]:
    if isinstance(node, cst.With):
        off = off or any(_name(item.item) in _OFF for item in node.items)
    elif isinstance(node, cst.FunctionDef):
        off = any(_name(one.decorator) in _OFF for one in node.decorators)
    elif isinstance(node, cst.Call) and off:
        yield _name(node)
    for part in parts(node):
        yield from _calls(part, off=off)


def _name(node: cst.CSTNode) -> str:
    """Return the last name of what is called, or stands there without a call."""
    while isinstance(node, cst.Call):
        node = node.func
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""
