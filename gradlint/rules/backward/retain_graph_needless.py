"""GRD212: a backward in a loop retains its graph, and nothing walks it a second time."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.backward import GraphRetained
from gradlint.rules.authoring.arguments import keyword_of
from gradlint.rules.authoring.repairs import with_argument, without_argument
from gradlint.rules.base import Bad, Good, Repair, Report, Rule


class RetainGraphNeedless(Rule):
    """A backward in a loop retains its graph, and nothing walks it a second time.

    What torch does
        A backward frees what the operations have saved, while it runs. With `retain_graph=True` all of
        it stays until the last name of the loss is gone, which is after the next forward.

    Why it matters
        Two turns' activations are in memory at once, and mistakes that torch would report at once (a
        state carried over, a graph walked twice) stay hidden.

    When it may be wrong
        Where something that gradlint does not see runs a second backward. Nothing is reported where a
        part of the graph is not known.

    Instead
        Leave the argument out. It is needed for all but the last of several backwards through one
        graph.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "GRD212"
    name = "retain-graph-needless"
    effect = "leak"
    events = (GraphRetained,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 8, 4):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward(retain_graph=True)  # GRD212
    optimizer.step()
""",
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
for x in torch.randn(10, 3):
    w.grad = None
    (w * x).exp().sum().backward(None, True)  # GRD212
    with torch.no_grad():
        w -= 0.1 * w.grad
""",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

encoder, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
for x in torch.randn(10, 8, 4):
    code = encoder(x).tanh()
    a(code).mean().backward(retain_graph=True)
    b(code).mean().backward()
""",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
penalty = w.pow(2).sum()
for x in torch.randn(10, 3):
    ((w * x).sum() + penalty).backward(retain_graph=True)
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the backward that retains its graph."""
        assert isinstance(event, GraphRetained)
        yield Report(
            event.node,
            "this backward retains its graph, and no other walks it: its memory is kept for another turn",
            hint="leave `retain_graph=True` out",
            repair=_dropped(event.node),
        )


def _dropped(node: cst.CSTNode) -> Repair | None:
    """The call without the argument; beside `create_graph`, which retains by itself, it is set to False."""
    if not isinstance(node, cst.Call):
        return None
    if keyword_of(node, "create_graph") is None or keyword_of(node, "retain_graph") is None:
        return without_argument(node, "retain_graph")
    return with_argument(node, "retain_graph=False", safe=True)
