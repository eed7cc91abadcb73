"""GRD213: `backward(create_graph=True)` lets parameters and their gradients keep each other alive."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.backward import GradientCycle
from gradlint.rules.authoring.repairs import without_argument
from gradlint.rules.base import Bad, Good, Report, Rule


class CreateGraphLeak(Rule):
    """`backward(create_graph=True)` lets parameters and their gradients keep each other alive.

    What torch does
        The gradient that is put into `.grad` carries a graph, the graph holds the parameter, and the
        parameter holds its `.grad`: a cycle that reference counting never frees. torch warns: "Using
        backward() with create_graph=True will create a reference cycle between the parameter and its
        gradient which can cause a memory leak."

    Why it matters
        The graph of every such backward stays in memory, with all that it has saved.

    When it may be wrong
        Where something that gradlint does not see sets `.grad` to None after use, as `zero_grad()`
        does. Where the program does so itself, nothing is reported.

    Instead
        Take the gradients from `torch.autograd.grad(loss, parameters, create_graph=True)`, which puts
        them nowhere; or set `.grad` to None (`optimizer.zero_grad()`) when they have been used.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD213"
    name = "create-graph-leak"
    effect = "leak"
    events = (GradientCycle,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward(create_graph=True)  # GRD213
penalty = sum(p.grad.pow(2).sum() for p in model.parameters())
""",
            shows="model[0].weight.grad.grad_fn is not None",
        ),
        Bad(
            """\
import torch

x = torch.ones(3, requires_grad=True)
torch.autograd.backward((x**3).sum(), create_graph=True)  # GRD213
curvature = x.grad.sum()
""",
            shows="x.grad.grad_fn is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
loss = model(torch.randn(8, 4)).pow(2).mean()
gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
penalty = sum(g.pow(2).sum() for g in gradients)
penalty.backward()
""",
        ),
        Good(
            """\
import torch

x = torch.ones(3, requires_grad=True)
(x**3).sum().backward(create_graph=True)
curvature = torch.autograd.grad(x.grad.sum(), x)
x.grad = None
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the backward; the argument can be left out if nothing uses the graph of a gradient."""
        assert isinstance(event, GradientCycle)
        yield Report(
            event.node,
            "`create_graph=True` keeps parameters and their gradients alive by each other, and no `.grad` is dropped",
            hint="use `torch.autograd.grad(..., create_graph=True)`, or set `.grad` to None after use",
            repair=None if event.used else without_argument(event.node, "create_graph", safe=False),
        )
