"""Faults of what losses and layers are given."""

from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Fault
from gradlint.domain.shape import Dim

Activation: TypeAlias = Literal["scores", "probabilities", "log-probabilities"]


class WrongActivation(Fault):
    """A loss that `takes` scores, probabilities or log-probabilities gets something of another `kind`.

    `got` is the operation at `made` that gave it. With `along` it gave the right kind, but along that
    dimension of `rank`, and the classes are in dimension 1.
    """

    loss: str
    takes: Activation
    got: str
    kind: Activation
    made: cst.CSTNode
    along: int | None = None
    rank: int = 2


class CrossedShapes(Fault):
    """A loss over values that broadcast so that each of one side is compared with each of the other.

    `met` is where they are broadcast, and the shapes are those of both sides.
    """

    warned: ClassVar[bool] = True
    met: cst.CSTNode
    one: tuple[Dim, ...]
    other: tuple[Dim, ...]


class TypeClash(Fault):
    """An operation gets tensors of element types that it does not take together.

    `late`: only its backward raises. `wants` is the type of the other side, or what the operation takes. `settled`: no
    test before it is undecided that may have picked both types.
    """

    op: str
    argument: str
    got: str
    wants: str
    late: bool = False
    made: cst.CSTNode | None = None
    settled: bool = False
