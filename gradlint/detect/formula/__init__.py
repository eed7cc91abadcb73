"""What torch computes and nobody means, known by the formula of an operation's operands.

Each judge is asked about the operations that it is registered for.
"""

from __future__ import annotations

from gradlint.detect.detector import Detector
from gradlint.detect.formula import losses, masked_nan, root_at_zero, spelling
from gradlint.detect.formula.terms import JUDGES
from gradlint.domain.announcement import Operated
from gradlint.domain.state import State
from gradlint.facts.aliases import canonical

FAMILIES = (masked_nan, losses, root_at_zero, spelling)
"""Each registers its judges."""


class FormulaDetector(Detector[None]):
    """Needs no facts but the formula itself."""

    def on_operated(self, state: State, it: Operated) -> None:
        """Report what the judges of this operation find."""
        for judge in JUDGES.get(canonical(it.op), ()):
            for fault in judge(state, it):
                self.report(fault)
