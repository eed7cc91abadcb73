"""Who in a file may empty, replace or detach an attribute: any object's, by the name alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from gradlint.source.lower.syntax import parts

_GROWING = frozenset({"append", "appendleft", "extend", "add", "insert", "copy", "index", "count", "items", "values"})
"""Methods of containers that leave what is in them."""

_READING = frozenset(
    {
        *("len", "sum", "zip", "enumerate", "print", "list", "tuple", "max", "min", "float", "int", "bool", "str"),
        *("isinstance", "range", "reversed", "sorted", "iter", "any", "all", "hasattr", "getattr"),
        *("torch", "np", "numpy", "math", "F", "nn"),
    }
)
"""Functions, or the libraries that they are of, which do not change what they are given."""

_CLEARING = frozenset({"zero_grad", "clear_grad", "zero_grads"})
"""Methods that clear gradients, torch's and what others call theirs."""


Resets: TypeAlias = "dict[str, set[cst.CSTNode | None]]"
"""By the name of an attribute, the functions that may change what it holds otherwise than by adding to it.

None stands for the top level. Who clears gradients, by whatever means, changes `grad`.
"""


def resets_in(module: cst.Module) -> Resets:
    """Return what the functions of a file may reset."""
    found: Resets = {}
    stack: list[tuple[cst.CSTNode, cst.CSTNode | None]] = [(module, None)]
    while stack:
        node, function = stack.pop()
        if isinstance(node, cst.FunctionDef):
            function = node
        for name in _reset_by(node):
            found.setdefault(name, set()).add(function)
        stack.extend((part, function) for part in parts(node))
    return found


def _reset_by(node: cst.CSTNode) -> Iterator[str]:
    """Yield the names of the attributes that one piece of syntax may reset."""
    if isinstance(node, cst.Call):
        yield from _by_call(node)
    elif isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.For, cst.Del)):
        yield from _written(node.target)
    elif isinstance(node, cst.AsName):
        yield from _written(node.name)
    elif isinstance(node, cst.SimpleString) and (text := node.raw_value).isidentifier():
        yield text  # setattr(self, "memory", ...)


def _by_call(node: cst.Call) -> Iterator[str]:
    func = node.func
    if isinstance(func, cst.Attribute) and func.attr.value not in _GROWING:
        if func.attr.value in _CLEARING:
            yield "grad"
        owner = func.value
        while isinstance(owner, cst.Attribute):
            yield owner.attr.value
            owner = owner.value
    if _root(func) not in _READING:
        for arg in node.args:
            yield from _written(arg.value)


def _written(target: cst.BaseExpression) -> Iterator[str]:
    if isinstance(target, (cst.Tuple, cst.List)):
        for element in target.elements:
            yield from _written(element.value)
    elif isinstance(target, cst.Subscript):
        yield from _written(target.value)
    elif isinstance(target, cst.Attribute):
        yield target.attr.value


def _root(func: cst.BaseExpression) -> str:
    while isinstance(func, cst.Attribute):
        func = func.value
    return func.value if isinstance(func, cst.Name) else ""
