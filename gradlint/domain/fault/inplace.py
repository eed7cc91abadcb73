"""Faults of in-place writes."""

from __future__ import annotations

from dataclasses import dataclass

from gradlint.domain.event import Fault


@dataclass(frozen=True)
class LoopVariableAssigned(Fault):
    """The variable of a loop over parameters gets another value, and the parameter stays as it is."""
