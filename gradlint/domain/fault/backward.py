"""Faults of calls of backward and `autograd.grad`."""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from gradlint.domain.announcement import BackwardCall
from gradlint.domain.event import Fault


class RootWithoutGraph(Fault):
    """A backward starts at a tensor without a graph, so that torch raises.

    `cuts` are where the ways from leaves that require grad end, each with its kind, the one to blame first.
    """

    call: BackwardCall
    cuts: tuple[tuple[str, cst.CSTNode], ...]


class GradientWithoutGraph(Fault):
    """A gradient was computed without a graph, and the loss of `backward` is to differentiate it.

    `term` is the constant that the loss has of it; without one, the loss depends on nothing else, and torch raises.
    """

    backward: cst.CSTNode
    term: cst.CSTNode | None = None


class GradientUninitialised(Fault):
    """The gradient that a backward is given is memory that nobody has written, taken at `taken`.

    `scaled`: it is what arithmetic has made of that memory.
    """

    taken: cst.CSTNode
    scaled: bool


class NonleafGradRead(Fault):
    """The `.grad` of a result, made at `made`, is read, which is None; torch warns."""

    warned: ClassVar[bool] = True
    made: cst.CSTNode | None


class GraphRetained(Fault):
    """A backward in a loop retains a graph that no other runs through."""


class GradientCycle(Fault):
    """A backward with `create_graph=True` after which no `.grad` is dropped.

    `used`: a later backward runs through the graph of such a gradient, or may.
    """

    used: bool
