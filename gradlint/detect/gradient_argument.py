"""The gradient that a backward is given: memory that nobody has written."""

from __future__ import annotations

from gradlint.detect.detector import Detector
from gradlint.detect.formula.unfilled import taken
from gradlint.domain.announcement import BackwardCalled
from gradlint.domain.fault.backward import GradientUninitialised
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at


class GradientArgumentDetector(Detector[None]):
    """Needs no facts but those of the gradient and its root."""

    def begin(self) -> None:
        """Begin without facts."""

    def on_backward_called(self, state: State, it: BackwardCalled) -> None:
        """Report a gradient without values, unless torch refuses its shape."""
        given = known_tensor(self.machine, state, it.gradient)
        if given is None:
            return
        gradient, root = tensor_at(state, given), tensor_at(state, it.root)
        made = taken(state, gradient, self.machine.unfilled)
        if made is not None and same_shape(gradient.shape, root.shape) is not False:  # type: ignore[arg-type]
            self.report(GradientUninitialised(it.node, made, scaled=made is not gradient.node.syntax))
