"""Faults of flags, methods and attributes of tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import libcst as cst

from gradlint.domain.event import Fault


@dataclass(frozen=True)
class MethodOverwritten(Fault):
    """A flag is assigned to `requires_grad_`, which is a method."""

    owner: Literal["module", "tensor"]


@dataclass(frozen=True)
class FlagCompared(Fault):
    """`x.requires_grad == True` as a statement."""


@dataclass(frozen=True)
class NonleafGradient(Fault):
    """`.grad` of a result is read, which torch never fills; the tensor was made at `made`."""

    warned: ClassVar[bool] = True
    made: cst.CSTNode | None
