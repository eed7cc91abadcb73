"""Faults of in-place writes."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from gradlint.domain.event import Fault


@dataclass(frozen=True)
class LoopVariableAssigned(Fault):
    """The variable of a loop over parameters gets another value, and the parameter stays as it is."""


@dataclass(frozen=True)
class HiddenWriteToSaved(Fault):
    """A write past the version counter changes what `saver` saved, so that the gradient of `backward` is wrong."""

    saver: cst.CSTNode
    saver_op: str
    backward: cst.CSTNode
