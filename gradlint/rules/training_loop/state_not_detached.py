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
        Bad(
            """\
import torch
from torch import nn

drift = nn.Parameter(torch.ones(3))
optimizer = torch.optim.Adam([drift])
position = torch.zeros(3)
for target in torch.randn(10, 3):
    position = (position + drift).sin()  # GRD511
    optimizer.zero_grad()
    (position - target).abs().sum().backward(retain_graph=True)
    optimizer.step()
""",
            shows="graph_size(position) > 20",
        ),
        Bad(
            """\
import torch
from torch import nn

p = nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([p], lr=0.1)
s = torch.zeros(4)
for z in torch.randn(10, 4):
    s = 0.9 * s.cos() + p * z  # GRD511
    optimizer.zero_grad()
    (s - 1).pow(2).sum().backward(retain_graph=True)
    optimizer.step()
""",
            shows="graph_size(s) > 20",
        ),
        Bad(
            """\
import torch
from torch import nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.state = torch.zeros(2, 4)

    def forward(self, x):
        self.state = torch.tanh(self.cell(self.state) + x)  # GRD511
        return self.state


model = Memory()
optimizer = torch.optim.SGD([model.cell.bias], lr=0.1)
for x in torch.randn(10, 2, 4):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward(retain_graph=True)
    optimizer.step()
""",
            shows="graph_size(model.state) > 20",
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
        Good(
            """\
import torch
from torch import nn

shift = nn.Parameter(torch.zeros(4))
state, loss = torch.zeros(4), 0
for x in torch.randn(10, 4):
    state = torch.tanh(state + x + shift)
    loss = loss + state.pow(2).mean()
loss.backward()
""",
        ),
        Good(
            """\
import torch
from torch import nn

p = nn.Parameter(torch.ones(4))
optimizer = torch.optim.SGD([p], lr=0.1)
s = torch.zeros(4)
for z in torch.randn(10, 4):
    s = 0.9 * s.cos() + p * z
    optimizer.zero_grad()
    (s - 1).pow(2).sum().backward()
    optimizer.step()
    s = s.detach()
""",
            shows="graph_size(s) < 10",
        ),
        Good(
            """\
import torch
from torch import nn

cell = nn.GRUCell(3, 4)
optimizer = torch.optim.SGD(cell.parameters(), lr=0.1)
h = torch.zeros(1, 4)
for x in torch.randn(5, 1, 3):
    h = cell(x, h)
    optimizer.zero_grad()
    h.pow(2).sum().backward()
    optimizer.step()
    h.detach_()
""",
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
