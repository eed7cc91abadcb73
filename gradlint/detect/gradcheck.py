"""`gradcheck`: functions whose gradients certainly are not the derivatives that finite differences give."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.detector import Detector
from gradlint.detect.formula.derivative import changes, misses
from gradlint.domain.announcement import DerivativesChecked, GradientHooked
from gradlint.domain.graph import Term
from gradlint.domain.refusal.transform import TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Value
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at


class GradcheckDetector(Detector[dict[cst.CSTNode, str]]):
    """Knows the backwards in which a hook has certainly changed a gradient, and how."""

    def on_gradient_hooked(self, state: State, it: GradientHooked) -> None:
        """Note a hook whose result is another number than the gradient that it was given."""
        ref = known_tensor(self.machine, state, it.result)
        if it.certain and ref is not None and len(it.incoming) == 1:
            how = changes(_term(state, ref), it.incoming[0])
            if how is not None:
                self.facts[it.node] = how

    def on_derivatives_checked(self, state: State, it: DerivativesChecked) -> None:
        """Report a check that fails at whatever numbers."""
        records = [tensor_at(state, ref) for ref in self._tensors(state, it.inputs)]
        inputs = [record.node for record in records]
        tolerance = it.options.get("atol", 1e-5)
        if not isinstance(tolerance, (int, float)) or len({*inputs}) != len(inputs) or "rtol" in it.options:
            return
        for ref in self._tensors(state, it.outputs):
            formula = _term(state, ref)
            for position in [index for index, record in enumerate(records) if record.grad is True]:
                found = misses(formula, inputs, position, tolerance)
                changed = self.facts.get(it.node)
                if found == "cut" or (found == "bends" and changed) or (found == "slopes" and changed == "added"):
                    self.report(TransformMismatch(it.node, it.call, "check-cut" if found == "cut" else "check-hook"))
                    return

    def _tensors(self, state: State, values: tuple[Value, ...]) -> list[Ref]:
        found = (known_tensor(self.machine, state, one) for one in values)
        return [ref for ref in found if ref is not None]


def _term(state: State, ref: Ref) -> Term:
    record = tensor_at(state, ref)
    return Term(record.node, record.shape, record.dtype, record.grad)
