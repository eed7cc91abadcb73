"""What the execution of a finding came to."""

from __future__ import annotations

from typing import Literal

from gradlint.domain.frozen import Frozen

Verdict = Literal["confirmed", "refuted", "unconfirmed"]


class Confirmation(Frozen):
    """A verdict with its reason in one line.

    `error` is torch's own text where it raised, `torch` the version that was asked, and `repro` a program that
    shows the fault by itself.
    """

    verdict: Verdict
    reason: str
    error: str | None = None
    torch: str | None = None
    seconds: float = 0.0
    repro: str | None = None
