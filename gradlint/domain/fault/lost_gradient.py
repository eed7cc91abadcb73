"""Faults of leaves that a loss was computed from, and that no gradient reaches."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Fault

Given: TypeAlias = Literal["tensor", "scalars"]
"""What a copy was made of: a tensor, or a list of tensors of one element."""


class LostLeaf(Fault):
    """A loss that is backpropagated depends on a leaf, but every way back to it is cut; the node is the cut.

    `kind` of the cut is the operation's, such as "nondiff", "integer", "item", "rewrap"; `op` names it. The kind
    "hack" is a flag that made a new leaf of a value that was cut off before, at `cut`. `given`: what
    a copy was made of. `copied`: the call that makes a tensor again of the number that the node is, or of a list of
    such numbers. `idle`: an optimizer has nothing but leaves that no backward reaches. `term`: the leaf may be reached
    by another way, but a whole term of the loss is cut off. `leaf` is None where none is in sight: a number has no
    gradient all the same.
    """

    kind: str
    op: str
    leaf: cst.CSTNode | None
    backward: cst.CSTNode
    raises: bool
    parameter: bool
    cut: cst.CSTNode | None = None
    given: Given | None = None
    idle: bool = False
    term: bool = False
    copied: cst.Call | None = None
    left_to_callers: ClassVar = True


class ParameterNeverReached(Fault):
    """An optimizer holds what is made here, and no loss of the program depends on it."""
