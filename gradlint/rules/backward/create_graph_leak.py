from __future__ import annotations

from gradlint.domain.fault.backward import GradientCycle
from gradlint.rules.authoring.repairs import without_argument
from gradlint.rules.base import EventRule, Report


class CreateGraphLeak(EventRule[GradientCycle]):
    """`backward(create_graph=True)` creates reference cycles between parameters and their gradients.

    What torch does
        The gradient stored in `.grad` has a graph, the graph refers to the parameter, and the parameter refers to its
        `.grad`. Reference counting never frees this cycle. torch warns: "Using backward() with create_graph=True will
        create a reference cycle between the parameter and its gradient which can cause a memory leak."

    Why it matters
        The graph of every such backward stays in memory, with all saved tensors.

    When it may be wrong
        If code that gradlint does not see sets `.grad` to None after use, as `zero_grad()` does. A
        program that does so itself is not reported.

    Instead
        Compute the gradients with `torch.autograd.grad(loss, parameters, create_graph=True)`, which
        does not store them in `.grad`, or set `.grad` to None after use (`optimizer.zero_grad()`).

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD213"
    name = "create-graph-leak"
    effect = "leak"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward(create_graph=True)  # GRD213
penalty = sum(p.grad.pow(2).sum() for p in model.parameters())
"""
    bad_shows = "model[0].weight.grad.grad_fn is not None"
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
loss = model(torch.randn(8, 4)).pow(2).mean()
gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
penalty = sum(g.pow(2).sum() for g in gradients)
penalty.backward()
"""

    def check(self, event: GradientCycle) -> Report | None:
        """Report the backward; the fix removes the argument if nothing uses the graph of a gradient."""
        return Report(
            event.node,
            "`create_graph=True` creates reference cycles between parameters and their gradients, and no "
            "`.grad` is reset: the graph stays in memory",
            hint="use `torch.autograd.grad(..., create_graph=True)`, or set `.grad` to None after use",
            repair=None if event.used else without_argument(event.node, "create_graph", safe=False),
        )
