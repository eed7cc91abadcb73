from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.repairs import detached
from gradlint.rules.base import EventRule, Report


class EvalKeepsGraph(EventRule[fault.EvalKeepsGraph]):
    """An evaluation loop keeps the outputs of every iteration together with their graphs.

    What torch does
        Outside `torch.no_grad()` every forward records a graph, which keeps all activations that a backward would need.
        An output that is appended to a list or added to a sum keeps its graph alive.

    Why it matters
        A training step frees its activations, but this loop keeps those of the whole data set. The
        evaluation runs out of memory although the training does not.

    When it may be wrong
        If code that gradlint does not see runs a backward later. An evaluation that keeps nothing
        across iterations is not reported.

    Instead
        Evaluate under `with torch.no_grad():` (or `torch.inference_mode()`), or store `.item()` or `.detach()` of the
        outputs. `model.eval()` changes dropout and batch norm, but does not disable the graph.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/faq.html#my-model-reports-cuda-runtime-error-2-out-of-memory
    """

    code = "GRD512"
    name = "eval-keeps-graph"
    effect = "leak"
    fix = "safe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
model(torch.randn(8, 4)).mean().backward()

model.eval()
total = 0.0
for x in torch.randn(10, 8, 4):
    total += model(x).pow(2).mean()  # GRD512
print(total / 10)
"""
    bad_shows = "graph_size(total) > 30"
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
model(torch.randn(8, 4)).mean().backward()

model.eval()
total, outputs = 0.0, []
with torch.no_grad():
    for x in torch.randn(10, 8, 4):
        outputs.append(model(x))
        total += outputs[-1].pow(2).mean()
"""
    good_shows = "not total.requires_grad"

    def check(self, event: fault.EvalKeepsGraph) -> Report | None:
        """Report where the list or sum grows; the related place is the value with a graph."""
        what = "this list" if event.listed else "the state that is carried on here" if event.state else "this sum"
        return Report(
            event.node,
            f"{what} keeps the graphs and activations of all iterations, and no backward runs through them",
            hint="run the loop under `torch.no_grad()`, or keep `.item()` or `.detach()` of the outputs",
            related=((event.term, "this value has a graph"),),
            repair=None if event.nested or event.state else detached(event.node),
        )
