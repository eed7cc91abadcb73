"""Skip connections whose input is not what it was: a block has written to it."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.formula.value_range import is_never_negative
from gradlint.domain.announcement import ModuleEntered, Operated
from gradlint.domain.fault.inplace import SkipOverwritten
from gradlint.domain.graph import Node, Term, fresh_number
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance
from gradlint.domain.walk import inputs, is_reachable
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import ACTIVATIONS
from gradlint.interpreter.torch.tensor import tensor_at


@dataclass
class Blocks:
    """The call of a container that has just begun; what first layers were given, and when, by address."""

    begun: cst.CSTNode | None = None
    given: dict[int, int] = field(default_factory=dict)


class SkipDetector(Detector[Blocks]):
    """Knows what the first layers of blocks are given."""

    def on_module_entered(self, state: State, it: ModuleEntered) -> None:
        """Note a container: the next operation of the same call is that of its first layer."""
        record = state.heap.get(it.module.id)
        cls = record.cls if isinstance(record, Instance) else None
        self.facts.begun = it.node if isinstance(cls, External) and cls.path == "torch.nn.Sequential" else None

    def on_operated(self, state: State, it: Operated) -> None:
        """Report an input of a block beside what the block computes, if its first layer has written to it."""
        name = canonical(it.op)
        refs = [ref for _, ref, _ in it.inputs if ref is not None]
        if name in ACTIVATIONS and self.facts.begun is it.node:
            self.facts.given.update((ref.id, fresh_number()) for ref in refs)
        self.facts.begun = None
        if name not in ("add", "cat"):
            return
        for ref in refs:
            written = tensor_at(state, ref).node
            others = [tensor_at(state, other).node for other in refs if other != ref]
            since = self.facts.given.get(ref.id, written.id)
            if written.id > since and _changes(written) and is_reachable(written, others, inputs):
                self.report(SkipOverwritten(it.node, written.syntax, bare(written.op)))


def _changes(written: Node) -> bool:
    """Return whether a node is an activation that may have changed the values that it was given."""
    if canonical(written.op) not in ACTIVATIONS or len(written.edges) != 1:
        return False
    former = written.edges[0].node
    return former.op not in ("call", "input") and not is_never_negative(Term(former))
