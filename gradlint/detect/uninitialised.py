"""Memory that nobody has written, as a gradient: `one = torch.FloatTensor(1); minus = one * -1` is as arbitrary."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import BackwardCalled, Operated
from gradlint.domain.fault.backward import GradientUninitialised
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import SCALES, UNFILLED
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at

_SCALING = SCALES | {"neg"}


class UninitialisedDetector(Detector[dict[cst.CSTNode, cst.CSTNode]]):
    """Knows the operations that scale unwritten memory, each with where that was taken."""

    def aside(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Return what was scaled before counts in a run aside as well."""
        return dict(self.facts)

    def on_operated(self, state: State, it: Operated) -> None:
        """Note `one * -1`."""
        if len(it.inputs) != 1 or canonical(it.op) not in _SCALING:
            return
        ref = it.inputs[0][1]
        record = None if ref is None else tensor_at(state, ref)
        made = None if record is None or record.node.live else self._taken(state, record)
        if made is not None:
            self.facts[it.node] = made

    def on_backward_called(self, state: State, it: BackwardCalled) -> None:
        """Report a gradient argument whose values are nobody's, unless torch refuses its shape."""
        given = known_tensor(self.machine, state, it.gradient)
        if given is None:
            return
        gradient, root = tensor_at(state, given), tensor_at(state, it.root)
        made = self._taken(state, gradient)
        if made is not None and same_shape(gradient.shape, root.shape) is not False:
            self.report(GradientUninitialised(it.node, made, scaled=made is not gradient.node.syntax))

    def _taken(self, state: State, record: Tensor) -> cst.CSTNode | None:
        """Return where the memory of a tensor was taken that holds whatever stood there, or is scaled from such a one.

        None for one whose values are somebody's, and for all that were ever written.
        """
        made = record.node.syntax if canonical(record.node.op) in UNFILLED else self.facts.get(record.node.syntax)
        return None if state.writes(record.counter) or state.writes(record.memory) else made
