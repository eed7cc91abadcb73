"""Faults of optimizers and of what they hold."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from gradlint.domain.event import Fault


@dataclass(frozen=True)
class EmptyOptimizer(Fault):
    """An optimizer is given no parameters on any path; torch raises."""


@dataclass(frozen=True)
class ConstantsInOptimizer(Fault):
    """No tensor of an optimizer requires grad: no step, as that at `step`, changes anything."""

    step: cst.CSTNode
