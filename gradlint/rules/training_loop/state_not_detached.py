from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Reading, Repair, Report


class StateNotDetached(EventRule[fault.StateNotDetached]):
    """A state carried across iterations keeps its graph, so each backward runs through all earlier iterations.

    What torch does
        The graph of each iteration is connected to that of the iteration before. Without `retain_graph=True` the second
        backward raises, which GRD204 reports. If a step has changed a parameter that the old graph has saved, the
        second backward raises too, which GRD104 reports. Otherwise nothing raises: each backward runs through all
        iterations back to the first.

    Why it matters
        Time and memory grow with each iteration, and the gradients of the old iterations are added
        again, computed with old parameters.

    When it may be wrong
        If a single step should use the gradients of all iterations. A loop without a step is not reported.

    Instead
        Detach the state that is carried over, `hidden = hidden.detach()`, and remove `retain_graph=True`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "GRD511"
    name = "state-not-detached"
    effect = "leak"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

shift = nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([shift], lr=0.1)
state = torch.zeros(4)
for x in torch.randn(10, 4):
    state = torch.tanh(state + x + shift)  # GRD511
    loss = state.pow(2).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
"""
    bad_shows = "graph_size(state) > 20"
    good = """\
import torch
from torch import nn

shift = nn.Parameter(torch.zeros(4))
optimizer = torch.optim.SGD([shift], lr=0.1)
state = torch.zeros(4)
for x in torch.randn(10, 4):
    state = torch.tanh(state.detach() + x + shift)
    loss = state.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    good_shows = "graph_size(state) < 10"

    def check(self, event: fault.StateNotDetached) -> Report | None:
        """Report the state of the second iteration; the related place computes that of the first."""
        return Report(
            event.node,
            "this state is connected to the graphs of all earlier iterations: each backward runs through "
            "them again, and memory grows",
            hint="detach the state at the end of each iteration, `state = state.detach()`, and remove "
            "`retain_graph=True`",
            related=((event.former, "the iteration before computes the state here"),),
            repair=Repair("detach the state of the iteration before", (Reading(event.node, "detach"),), False),
        )
