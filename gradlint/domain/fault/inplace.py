"""Faults of in-place writes."""

from __future__ import annotations

from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.event import Fault

DataUse: TypeAlias = Literal["update", "assign", "initialise", "load", "average", "scale", "clip"]


class LoopVariableAssigned(Fault):
    """The variable of a loop over parameters gets another value, and the parameter stays as it is."""


class DataWrite(Fault):
    """A write through `.data` to a leaf that requires grad. `use` says what for, judged by the values written.

    `kept`: the program still holds a graph that saved the old value, and that no backward has freed. `recorded`:
    grad mode is on, or may be.
    """

    use: DataUse
    op: str
    made: cst.CSTNode | None = None
    parameter: bool = False
    kept: bool = False
    recorded: bool = True


class HiddenWriteToSaved(Fault):
    """A write past the version counter changes what `saver` saved, so that the gradient of `backward` is wrong.

    `numpy`: it is a write to the array that a tensor shares its memory with; otherwise it goes through `.data`.
    """

    saver: cst.CSTNode
    saver_op: str
    backward: cst.CSTNode
    numpy: bool = False


class SavedMemoryChanged(Fault):
    """A backward reads what `saver` saved, and that has changed since; a run has not seen where it was written."""

    saver: cst.CSTNode
    saver_op: str


class SkipOverwritten(Fault):
    """What a block was given is added to, or joined with, what it computes; `op` in the `block` has written to it."""

    block: cst.CSTNode
    op: str
