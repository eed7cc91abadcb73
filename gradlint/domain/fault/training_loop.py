"""Faults of the training loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import libcst as cst

from gradlint.domain.event import Fault


@dataclass(frozen=True)
class TrainModeMissing(Fault):
    """A module is sent to evaluation, and the next training iteration, of `backward`, runs in evaluation mode."""

    backward: cst.CSTNode


@dataclass(frozen=True)
class StateDictAlias(Fault):
    """A state dict is kept, and loaded after its own parameters have been trained further."""

    loaded: cst.CSTNode


@dataclass(frozen=True)
class ParameterMinusItself(Fault):
    """A parameter minus what was kept of it, which is the parameter itself; `parameter` is where it was made."""

    parameter: cst.CSTNode | None


@dataclass(frozen=True)
class GraphAccumulates(Fault):
    """A place holds the graphs of all iterations of a loop; the node is where it grows.

    `term` is what is added with its graph. `spent`: a backward has run through the graphs, so that nothing can use them
    any more; else none ever does, though the loop runs some. `listed`: a container is given the tensors, rather than a
    sum; `nested`: what it is given is not the tensor itself, but holds it.
    """

    term: cst.CSTNode | None
    spent: bool
    listed: bool
    nested: bool
    carried: ClassVar = "graph"


@dataclass(frozen=True)
class EvalKeepsGraph(Fault):
    """A place holds the graphs of all iterations of a loop that runs no backward; the fields as above."""

    term: cst.CSTNode | None
    listed: bool
    nested: bool


@dataclass(frozen=True)
class StateNotDetached(Fault):
    """Each iteration computes a state from the last, `former`, and each backward runs through all before."""

    former: cst.CSTNode | None
    carried: ClassVar = "graph"


@dataclass(frozen=True)
class MethodNotCalled(Fault):
    """A statement names a method, and does not call it."""


@dataclass(frozen=True)
class EpochNotSet(Fault):
    """A further epoch goes over the data of a sampler, made at `sampler`, without a call of `set_epoch` before it."""

    sampler: cst.CSTNode | None
