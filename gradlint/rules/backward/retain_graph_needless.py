from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.backward import GraphRetained
from gradlint.rules.authoring.arguments import keyword_of
from gradlint.rules.authoring.repairs import with_argument, without_argument
from gradlint.rules.base import EventRule, Repair, Report


class RetainGraphNeedless(EventRule[GraphRetained]):
    """A backward in a loop retains its graph, and no other backward runs through it.

    What torch does
        A backward frees saved tensors while it runs. With `retain_graph=True` they stay in memory
        until the last reference to the loss is gone, which is after the next forward.

    Why it matters
        The activations of two iterations are in memory at once. Mistakes that torch would otherwise report, such as a
        state carried over or a second backward through the same graph, stay hidden.

    When it may be wrong
        If code that gradlint does not see runs a second backward. Nothing is reported if a part of
        the graph is unknown.

    Instead
        Remove the argument. It is needed for all but the last of several backwards through one graph.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
    """

    code = "GRD212"
    name = "retain-graph-needless"
    effect = "leak"
    fix = "safe"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(10, 8, 4):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward(retain_graph=True)  # GRD212
    optimizer.step()
"""
    good = """\
import torch
from torch import nn

encoder, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
for x in torch.randn(10, 8, 4):
    code = encoder(x).tanh()
    a(code).mean().backward(retain_graph=True)
    b(code).mean().backward()
"""

    def check(self, event: GraphRetained) -> Report | None:
        return Report(
            event.node,
            "this backward retains its graph, and no other backward runs through it: its memory is held for as long "
            "as the loss",
            hint="remove `retain_graph=True`",
            repair=_dropped(event.node),
        )


def _dropped(node: cst.CSTNode) -> Repair | None:
    """Remove the argument; with `create_graph`, which implies it, set it to False."""
    if not isinstance(node, cst.Call):
        return None
    if keyword_of(node, "create_graph") is None or keyword_of(node, "retain_graph") is None:
        return without_argument(node, "retain_graph")
    return with_argument(node, "retain_graph=False", safe=True)
