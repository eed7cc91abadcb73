"""GRD511: a state carried from turn to turn keeps its graph, and each backward walks all turns again."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import Bad, Good, Reading, Repair, Report, Rule


class StateNotDetached(Rule):
    """A state carried from turn to turn keeps its graph, and each backward walks all turns again.

    What torch does
        Each turn's graph hangs on that of the turn before. Without `retain_graph=True` the second
        backward raises, which GRD204 reports; where a step has changed a parameter that the old graph
        needs, GRD104. With it, and where the old graph needs nothing that the step changed, nothing
        raises: each backward walks down to the first turn.

    Why it matters
        Time and memory grow with each turn, and the gradients of the old turns are added again, at
        parameters that are old.

    When it may be wrong
        Where the gradients of all turns are wanted before a single step: a loop without a step is not
        reported.

    Instead
        Detach what is carried over, `hidden = hidden.detach()`, and drop `retain_graph=True`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "GRD511"
    name = "state-not-detached"
    effect = "leak"
    events = (fault.StateNotDetached,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
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
""",
            shows="graph_size(state) > 20",
        ),
    )
    good = (
        Good(
            """\
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
""",
            shows="graph_size(state) < 10",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the state of the second iteration; that of the first explains it."""
        assert isinstance(event, fault.StateNotDetached)
        yield Report(
            event.node,
            "this state hangs on the graphs of all turns before: each backward walks them again, and memory grows",
            hint="detach the state at the end of each turn, and drop `retain_graph=True`",
            related=() if event.former is None else ((event.former, "made by the turn before"),),
            repair=Repair("detach what the turn before has left", (Reading(event.node, "detach"),), False),
        )
