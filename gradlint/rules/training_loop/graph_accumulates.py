"""GRD510: a sum or list that outlives the turns of a training loop keeps the graph of every turn."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.repairs import detached
from gradlint.rules.base import Bad, Good, Report, Rule


class GraphAccumulates(Rule):
    """A sum or list that outlives the turns of a training loop keeps the graph of every turn.

    What torch does
        A loss carries the graph that it was computed by. `total += loss` makes a graph of all losses so
        far, and `losses.append(loss)` holds them one by one: no node of them is freed while the sum or
        the list lives. A backward frees what the nodes have saved, not the nodes.

    Why it matters
        Memory grows with each turn, and an hour into the epoch there is none left. Nothing can be done
        with the graphs: their backward has run, and a second one raises.

    When it may be wrong
        Where the sum is emptied after a few turns, memory is bounded; the graph is of no use all the
        same. A sum that is backpropagated later (several losses of one step, the episode of a policy
        gradient) is not reported.

    Instead
        Keep the number, `total += loss.item()`, or the value without its graph, `total +=
        loss.detach()`, which does not wait for the GPU.

    References
        https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD510"
    name = "graph-accumulates"
    effect = "leak"
    events = (fault.GraphAccumulates,)
    fix = "safe"
    bad = (
        Bad(
            """\
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
""",
            shows="graph_size(total) > 30",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
total, history = 0, []
for x in torch.randn(10, 8, 4):
    loss = model(x).pow(2).mean()
    loss.backward()
    total += loss.item()
    history.append(loss.detach())
""",
            shows="isinstance(total, float)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report where the place grows; the term that carries its graph along explains it."""
        assert isinstance(event, fault.GraphAccumulates)
        what = "what is stored here" if event.listed else "this sum"
        why = "that have been backpropagated already" if event.spent else "that are never backpropagated"
        yield Report(
            event.node,
            f"{what} keeps the graphs of all turns, {why}: memory grows with each turn",
            hint="add the number (`loss.item()`) or the value without its graph (`loss.detach()`)",
            related=() if event.term is None else ((event.term, "this carries its graph along"),),
            repair=None if event.nested else detached(event.node),
        )
