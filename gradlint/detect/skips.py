"""Skip connections whose input is not what it was: a block has written to it."""

from __future__ import annotations

from gradlint.detect.detector import Detector
from gradlint.detect.formula.value_range import is_never_negative
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.inplace import SkipOverwritten
from gradlint.domain.graph import Node, Term
from gradlint.domain.state import State
from gradlint.domain.value import Ref
from gradlint.domain.walk import back_to, inputs, reachable
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import ACTIVATIONS
from gradlint.interpreter.torch.tensor import tensor_at


class SkipDetector(Detector[None]):
    """Needs no facts but the graphs of what is added or joined."""

    def on_operated(self, state: State, it: Operated) -> None:
        """Report an input of a block of layers, beside what the block computes, if its first layer wrote to it."""
        if canonical(it.op) not in ("add", "cat"):
            return
        refs = [ref for _, ref, _ in it.inputs if ref is not None]
        for ref in refs:
            written = tensor_at(state, ref).node
            others = [tensor_at(state, other).node for other in refs if other != ref]
            if _overwrites(written, ref) and any(_goes_on(written, other) for other in others):
                self.report(SkipOverwritten(it.node, written.syntax, bare(written.op)))


def _overwrites(written: Node, ref: Ref) -> bool:
    """Return whether a tensor is older than its node, an activation that may have changed its values."""
    if canonical(written.op) not in ACTIVATIONS or written.id < ref.id or len(written.edges) != 1:
        return False
    former = written.edges[0].node
    known = former.op not in ("call", "input") and former.syntax is not written.syntax
    return known and not is_never_negative(Term(former))


def _goes_on(written: Node, other: Node) -> bool:
    """Return whether the call that wrote has computed more, and another value stems from that: it was a container."""
    found = reachable([other], back_to(written.id, inputs))
    return any(node.syntax is written.syntax and node is not written for node in found)
