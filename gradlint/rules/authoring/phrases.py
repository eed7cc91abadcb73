"""Phrases for parts of the program: writes, their targets, operations and shapes."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import SUPPOSED_CALL
from gradlint.domain.shape import Shape
from gradlint.facts.traits import OPERATORS
from gradlint.rules.authoring.repairs import code

_LONGEST = 32
_SIGNS = {name: sign for sign, name in OPERATORS.items()}


def writing(op: str, node: cst.CSTNode) -> str:
    """Return an in-place operation as the program spells it: `+=` rather than the `add_` that torch runs."""
    if isinstance(node, cst.AugAssign):
        return f"`{source(node.operator)}`"
    if op in ("=", "index assignment"):
        return "the assignment" if op == "=" else f"the {op}"
    if op.startswith("nn.") and not op.endswith("_"):
        return f"`{op}` with `inplace=True`"
    return f"`{op}`"


def article(word: str) -> str:
    """Return the article that stands before a word."""
    return "an" if word[0] in "aeiou" else "a"


def unless_off(may_be_off: bool) -> str:
    """Return what a message adds in a function that nobody in sight calls, or in a context that is not known."""
    return ", unless grad mode is disabled around it" if may_be_off else ""


def target(node: cst.CSTNode) -> str | None:
    """Return the source of the target of an in-place write, if it is short enough to quote."""
    written: cst.CSTNode | None = None
    if isinstance(node, cst.AugAssign):
        written = node.target
    elif isinstance(node, cst.Assign) and isinstance(node.targets[0].target, cst.Subscript):
        written = node.targets[0].target.value
    elif isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        written = node.func.value if _writes(node.func.attr.value) else None
    text = "" if written is None else source(written)
    return text if 0 < len(text) <= _LONGEST and "\n" not in text else None


def _writes(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def operation(op: str, node: cst.CSTNode) -> str:
    """Return an operation as the program spells it: `>` rather than `gt` for an operator."""
    if op.startswith(SUPPOSED_CALL):
        return f"the call of `{op.removeprefix(SUPPOSED_CALL)}`"
    name = op.removeprefix("Tensor.")
    if isinstance(node, cst.BinaryOperation | cst.Comparison) and name in _SIGNS:
        return f"`{_SIGNS[name]}`"
    return "indexing" if name == "index" else f"`{name}`"


def sizes(shape: Shape) -> str | None:
    """Return a shape as torch prints it, with `?` for an unknown size; None if the number of dimensions is unknown."""
    if shape is None:
        return None
    return f"[{', '.join(str(size) if isinstance(size, int) else '?' for size in shape)}]"


def source(node: cst.CSTNode) -> str:
    """Return the source text of a node."""
    return code(node).strip()
