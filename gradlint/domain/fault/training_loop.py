"""Faults of the training loop."""

from __future__ import annotations

from dataclasses import dataclass

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
class EpochNotSet(Fault):
    """A further epoch goes over the data of a sampler, made at `sampler`, without a call of `set_epoch` before it."""

    sampler: cst.CSTNode | None
