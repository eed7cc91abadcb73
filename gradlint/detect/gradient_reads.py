"""`.grad` of a tensor that is no leaf is read: it is None, of which torch warns."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import GradientRead, GradientTested
from gradlint.domain.fault.backward import NonleafGradRead
from gradlint.domain.state import State
from gradlint.interpreter.torch.tensor import tensor_at


@dataclass
class Reads:
    """Where a `.grad` was read of a tensor that may have one, and where of one that is compared with None."""

    filled: set[cst.CSTNode] = field(default_factory=set)
    tested: set[cst.CSTNode] = field(default_factory=set)


class GradientReadDetector(Detector[Reads]):
    """Knows the reads of `.grad` after which the program asks whether there is one."""

    def on_gradient_read(self, state: State, it: GradientRead) -> None:
        """Report a gradient that is certainly None, unless the program knows."""
        if it.warned:
            made = tensor_at(state, it.tensor).syntax
            self.report(NonleafGradRead(it.node, made), unless=("known", it.node))
        else:
            self.facts.filled.add(it.node)
            self._compare(it.node)

    def on_gradient_tested(self, state: State, it: GradientTested) -> None:
        """Who asks of several tensors in turn whether they have a gradient knows that some have none."""
        if it.read is not None:
            self.facts.tested.add(it.read)
            if it.asserted:
                self.facts.filled.add(it.read)
            self._compare(it.read)

    def _compare(self, read: cst.CSTNode) -> None:
        if read in self.facts.filled and read in self.facts.tested:
            self.machine.passes(("known", read))
