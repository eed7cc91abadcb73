"""Where a file calls something with grad mode off, as its text says."""

from __future__ import annotations

import libcst as cst

from gradlint.source.lower.syntax import BLOCKS, parts

_OFF = frozenset({"no_grad", "inference_mode"})


def called_off(module: cst.Module, text: str) -> frozenset[str]:
    """Return the names of the functions and methods that are called in blocks and functions without grad mode.

    `text` is the module's source: most files do not name such a block at all.
    """
    if not any(name in text for name in _OFF):
        return frozenset()
    found: set[str] = set()
    stack: list[tuple[cst.CSTNode, bool]] = [(module, False)]
    while stack:
        node, off = stack.pop()
        if type(node) is cst.With:
            off = off or any(_name(item.item) in _OFF for item in node.items)
        elif type(node) is cst.FunctionDef:
            off = any(_name(one.decorator) in _OFF for one in node.decorators)
        elif off and type(node) is cst.Call:
            found.add(_name(node))
        stack.extend([(part, off) for part in parts(node) if off or type(part) in BLOCKS])
    return frozenset(found) - {""}


def _name(node: cst.CSTNode) -> str:
    """Return the last name of what is called, or stands there without a call."""
    while isinstance(node, cst.Call):
        node = node.func
    name = node.attr if isinstance(node, cst.Attribute) else node
    return name.value if isinstance(name, cst.Name) else ""
