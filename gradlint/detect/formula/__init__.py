"""Judges of one call: what torch computes and nobody means, or refuses, told by the formula of the operands.

Each judge is asked about the operations it is registered for, before they are done, and reports with an event.
"""

from __future__ import annotations

from gradlint.detect.formula import activation, spelling, unfilled
from gradlint.detect.formula import dtypes as types
from gradlint.detect.formula import loss_broadcast as outer
from gradlint.detect.formula import masked_nan as masked
from gradlint.detect.formula import root_at_zero as root
from gradlint.detect.formula.register import JUDGES
from gradlint.detect.formula.terms import plain
from gradlint.interpreter.torch.operation import Operation

FAMILIES = (activation, masked, outer, root, spelling, types, unfilled)
"""Each registers its judges."""


def judge(call: Operation) -> None:
    """Ask the judges of this operation."""
    for one in JUDGES.get(plain(call.name), ()):
        one(call)
