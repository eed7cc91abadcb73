"""Which code of a file trains, for all that its syntax says."""

from __future__ import annotations

import re
from typing import NamedTuple

import libcst as cst

from gradlint.source.lower.syntax import parts

TRAINING_STEP = "training_step"
"""The method of a Lightning module whose result Lightning backpropagates."""

TRAINING = ("backward", "backwards", "zero_grad")
"""Attributes that a function names which trains; `backwards` is a frequent slip."""

MAY_TRAIN = re.compile(rf"backward|\b(?:zero_grad|{TRAINING_STEP})\b")
"""What a text has in it that may backpropagate."""


class TrainingCode(NamedTuple):
    """The functions and classes of a file by what they do for others.

    `training`: those that backpropagate, or clear gradients, and the file that has some such code. So does a function
    that calls such a function of the file, or a method of that name of its own object. `helpers`: the names that
    functions call, or ask of their own object; those of others, not their own.
    """

    training: set[cst.CSTNode]
    helpers: frozenset[str]


def training_code(module: cst.Module) -> TrainingCode:
    """Return which functions of a file train, and which help others."""
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
    helpers = frozenset(name for name, places in users.items() if any(_is_other(name, *place[1:]) for place in places))
    found: set[cst.CSTNode] = set()
    while waiting:
        around = waiting.pop()
        inner = around[-1]
        if isinstance(inner, cst.FunctionDef) and inner not in found:
            waiting += users.get(inner.name.value, ())
        found.update(around)
    return TrainingCode(found, helpers)


def _is_other(name: str, *around: cst.CSTNode) -> bool:
    """Return whether the innermost piece of code around a place is a function, and none of this name."""
    return bool(around) and isinstance(around[-1], cst.FunctionDef) and around[-1].name.value != name
