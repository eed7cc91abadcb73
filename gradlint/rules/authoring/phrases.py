"""How rules name what stands in the program: what writes, what is written to, shapes, operators."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.shape import Shape

_LONGEST = 32
_OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floor_divide": "//",
    "remainder": "%",
    "pow": "**",
    "matmul": "@",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}


def writing(op: str, node: cst.CSTNode) -> str:
    """What writes in place, as the program spells it: `+=` rather than the `add_` that torch runs for it."""
    if isinstance(node, cst.AugAssign):
        return f"`{source(node.operator)}`"
    if op == "index assignment":
        return "the index assignment"
    if op.startswith("nn.") and not op.endswith("_"):
        return f"`{op}` with `inplace=True`"
    return f"`{op}`"


def target(node: cst.CSTNode) -> str | None:
    """The source of what a write in place writes to, where it is short enough to be quoted."""
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
    """An operation as the program spells it: `>` rather than `gt` where an operator stands."""
    name = op.removeprefix("Tensor.")
    if isinstance(node, cst.BinaryOperation | cst.Comparison) and name in _OPERATORS:
        return f"`{_OPERATORS[name]}`"
    return "indexing" if name == "index" else f"`{name}`"


def sizes(shape: Shape) -> str | None:
    """A shape as torch prints it, `?` for a size that is not known; None where even their number is not."""
    if shape is None:
        return None
    return f"[{', '.join(str(size) if isinstance(size, int) else '?' for size in shape)}]"


def source(node: cst.CSTNode) -> str:
    """The text of a node."""
    return cst.Module([]).code_for_node(node).strip()
