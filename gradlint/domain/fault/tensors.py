"""Faults of flags, methods and attributes of tensors."""

from __future__ import annotations

from typing import Literal

from gradlint.domain.event import Fault


class MethodOverwritten(Fault):
    """A flag is assigned to `requires_grad_`, which is a method."""

    owner: Literal["module", "tensor"]


class FlagCompared(Fault):
    """`x.requires_grad == True` as a statement."""
