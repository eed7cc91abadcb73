"""Judges of one call: what torch computes and nobody means, or refuses, told by the formula of the operands.

Each judge is asked about the operations it is registered for, before they are done, and reports with an event.
"""

from __future__ import annotations

from gradlint.semantics.torch.judge import activation, masked, outer, root, spelling, types, unfilled
from gradlint.semantics.torch.judge.formula import plain
from gradlint.semantics.torch.judge.register import JUDGES
from gradlint.semantics.torch.operation import Operation

FAMILIES = (activation, masked, outer, root, spelling, types, unfilled)
"""Each registers its judges."""


def judge(call: Operation) -> None:
    """Ask the judges of this operation."""
    for one in JUDGES.get(plain(call.name), ()):
        one(call)
