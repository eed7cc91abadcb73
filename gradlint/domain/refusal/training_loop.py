"""Refusals in the training loop."""

from __future__ import annotations

from dataclasses import dataclass

from gradlint.domain.event import Refusal


@dataclass(frozen=True)
class GradModeNotCalled(Refusal):
    """A class such as `torch.no_grad`, of the path `mode`, stands in a `with` without a call."""

    mode: str
