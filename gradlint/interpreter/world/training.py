"""Which code of a file trains, for all that its syntax says."""

from __future__ import annotations

import re

import libcst as cst

from gradlint.source.lower.syntax import parts

TRAINING_STEP = "training_step"
"""The method of a Lightning module whose result Lightning backpropagates."""

TRAINING = ("backward", "backwards", "zero_grad")
"""Attributes that a function names which trains; `backwards` is a frequent slip."""

MAY_TRAIN = re.compile(rf"backward|\b(?:zero_grad|{TRAINING_STEP})\b")
"""What a text has in it that may backpropagate."""


def backpropagating(module: cst.Module) -> set[cst.CSTNode]:
    """Return the functions and classes that backpropagate, or clear gradients, and the file that has some such code.

    So does a function that calls such a function of the file, or a method of that name of its own object.
    """
    users: dict[str, list[tuple[cst.CSTNode, ...]]] = {}
    """What encloses the places that name an own method, or call a name; outermost first."""
    waiting: list[tuple[cst.CSTNode, ...]] = []
    stack: list[tuple[cst.CSTNode, tuple[cst.CSTNode, ...]]] = [(module, (module,))]
    while stack:
        node, around = stack.pop()
        kind = type(node)
        if kind is cst.Attribute:
            assert isinstance(node, cst.Attribute)
            if node.attr.value in TRAINING:
                waiting.append(around)
            elif type(node.value) is cst.Name and node.value.value == "self":
                users.setdefault(node.attr.value, []).append(around)
        elif kind is cst.Call:
            assert isinstance(node, cst.Call)
            if type(node.func) is cst.Name:
                users.setdefault(node.func.value, []).append(around)
        elif kind is cst.FunctionDef or kind is cst.ClassDef:
            assert isinstance(node, (cst.FunctionDef, cst.ClassDef))
            around = (*around, node)
            if node.name.value == TRAINING_STEP:
                waiting.append(around)
        stack.extend([(part, around) for part in parts(node)])
    found: set[cst.CSTNode] = set()
    while waiting:
        around = waiting.pop()
        inner = around[-1]
        if isinstance(inner, cst.FunctionDef) and inner not in found:
            waiting += users.get(inner.name.value, ())
        found.update(around)
    return found
