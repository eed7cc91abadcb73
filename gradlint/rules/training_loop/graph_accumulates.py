from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.repairs import detached
from gradlint.rules.base import EventRule, Report


class GraphAccumulates(EventRule[fault.GraphAccumulates]):
    """A running total or list kept across iterations holds on to every iteration's graph.

    What torch does
        A loss refers to the graph from which it was computed. `total += loss` connects the graphs of
        all losses so far, and `losses.append(loss)` keeps each of them: no node is freed as long as the
        sum or the list exists. A backward frees the saved tensors of the nodes, but not the nodes.

    Why it matters
        Memory grows with each iteration until it runs out. The graphs are useless: their backward has
        run, and a second one raises.

    When it may be wrong
        If the sum is reset after a few iterations. Then memory is bounded, but the graphs are still useless. A sum on
        which backward is called later (several losses of one step, the episode of a policy gradient) is not reported.

    Instead
        Add the number, `total += loss.item()`, or the value without its graph, `total +=
        loss.detach()`, which does not wait for the GPU.

    References
        https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD510"
    name = "graph-accumulates"
    effect = "leak"
    fix = "safe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for x in torch.randn(10, 8, 4):
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss  # GRD510
"""
    bad_shows = "graph_size(total) > 30"
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
total, history = 0, []
for x in torch.randn(10, 8, 4):
    loss = model(x).pow(2).mean()
    loss.backward()
    total += loss.item()
    history.append(loss.detach())
"""
    good_shows = "isinstance(total, float)"

    def check(self, event: fault.GraphAccumulates) -> Report | None:
        """Report where the list or sum grows; the related place is the value with a graph."""
        what = "this list" if event.listed else "this sum"
        path = f" (`{event.path}`)" if event.path else ""
        why = "whose backward has already run" if event.spent else "on which no backward is called"
        return Report(
            event.node,
            f"{what}{path} keeps the graphs of all iterations, {why}: memory grows with each iteration",
            hint="add the number (`loss.item()`) or the value without its graph (`loss.detach()`)",
            related=((event.term, "this value has a graph"),),
            repair=None if event.nested else detached(event.node),
        )
