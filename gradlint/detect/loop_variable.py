"""A loop over parameters that only gives its variable another value: the parameters stay as they are."""

from __future__ import annotations

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import LoopVariableRebound
from gradlint.domain.fault.inplace import LoopVariableAssigned
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.interpreter.torch.tensor import known_tensor


class LoopVariableDetector(Detector[None]):
    """Needs no facts but those of the two values."""

    def on_loop_variable_rebound(self, state: State, it: LoopVariableRebound) -> None:
        """Report a variable that stood for a parameter, and gets a value with memory of its own."""
        former, value = (known_tensor(self.machine, state, one) for one in (it.former, it.value))
        if former is None or value is None:
            return
        old, new = state[former], state[value]
        assert isinstance(old, Tensor) and isinstance(new, Tensor)
        if old.parameter and old.node.leaf is not None and new.memory != old.memory and new.view is None:
            self.report(LoopVariableAssigned(it.node))
