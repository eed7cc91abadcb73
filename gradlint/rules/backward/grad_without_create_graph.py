"""GRD214: a gradient that was made without a graph stands in a loss, where it trains nothing."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.backward import GradientWithoutGraph
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import Bad, Good, Repair, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class GradWithoutCreateGraph(Rule):
    """A gradient that was made without a graph stands in a loss, where it trains nothing.

    What torch does
        Without `create_graph=True` the results of `torch.autograd.grad` are plain numbers. A penalty
        computed from them is a constant: added to a loss it changes the value and no gradient. Alone,
        its backward raises a RuntimeError: "element 0 of tensors does not require grad".

    Why it matters
        A gradient penalty (WGAN-GP, R1), the residual of a differential equation or a curvature term
        look as if they were trained, and are not. `retain_graph=True` does not help: it keeps the old
        graph and makes no new one.

    When it may be wrong
        Where the term is added for the log alone. Gradients that only scale a loss or move a tensor
        (first-order meta-learning, adversarial steps) are not reported unless nothing else leads to all that
        an optimizer holds, nor is a detached term.

    Instead
        `torch.autograd.grad(outputs, inputs, create_graph=True)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD214"
    name = "grad-without-create-graph"
    effect = "silent"
    events = (GradientWithoutGraph, LostLeaf)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 2, requires_grad=True)
score = critic(x).mean()
(slope,) = torch.autograd.grad(score, x, retain_graph=True)  # GRD214
penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
loss = score + 10 * penalty
loss.backward()
""",
            shows="not penalty.requires_grad",
        ),
        Bad(
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
t = torch.linspace(0, 1, 16).reshape(-1, 1).requires_grad_()
u = net(t)
du = torch.autograd.grad(u, t, torch.ones_like(u))[0]  # GRD214
residual = (du - 1).pow(2).mean()
residual.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
strength = torch.tensor(0.1, requires_grad=True)
outer = torch.optim.SGD([strength], lr=0.01)
for _ in range(2):
    inner = ((w - 2) ** 2).sum() + strength * (w**2).sum()
    (slope,) = torch.autograd.grad(inner, w)  # GRD214
    moved = w - 0.1 * slope
    outer.zero_grad()
    ((moved - 1) ** 2).sum().backward()
    outer.step()
""",
            shows="strength.grad is None",
        ),
        Bad(
            """\
import torch
from torch import nn

net = nn.Linear(3, 1)
x = torch.randn(4, 3)
task = net(x).pow(2).mean()
slopes = torch.autograd.grad(task, net.parameters(), retain_graph=True)  # GRD214
penalty = sum(slope.pow(2).sum() for slope in slopes)
(task + 0.1 * penalty).backward()
""",
            shows="net.weight.grad is not None and not penalty.requires_grad",
        ),
        Bad(
            """\
import torch
from torch import nn


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 1))

    def forces(self, positions):
        energy = self.net(positions).sum()
        return -torch.autograd.grad(outputs=energy, inputs=positions)[0]  # GRD214


model = Potential()
positions = torch.randn(5, 3, requires_grad=True)
loss = (model.forces(positions) - 1).abs().mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 2, requires_grad=True)
score = critic(x).mean()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
loss = score + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
loss.backward()
""",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
(g,) = torch.autograd.grad((w**2).sum(), w)
fast = w - 0.1 * g
((fast - 1) ** 2).sum().backward()
""",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
first, second = (w**2).sum(), (w**4).sum()
(a,) = torch.autograd.grad(first, w, retain_graph=True)
(b,) = torch.autograd.grad(second, w, retain_graph=True)
(first + a.norm() / b.norm() * second).backward()
""",
        ),
        Good(
            """\
import torch
from torch import nn


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.SiLU(), nn.Linear(8, 1))

    def forces(self, positions):
        energy = self.net(positions).sum()
        return -torch.autograd.grad(outputs=energy, inputs=positions, create_graph=True)[0]


model = Potential()
positions = torch.randn(5, 3, requires_grad=True)
loss = (model.forces(positions) - 1).abs().mean()
loss.backward()
""",
            shows="model.net[0].weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the gradient: it is a term of a loss, all of a root, or all that leads to what is trained."""
        if isinstance(event, LostLeaf):
            if event.kind == "grad" and event.idle:
                yield report(event, "these gradients have no graph", _HINT, _repair(event.node))
            return
        assert isinstance(event, GradientWithoutGraph)
        alone = "these gradients have no graph, and nothing else is behind what is differentiated: torch raises"
        term = "these gradients have no graph: the term of the loss that is made of them trains nothing"
        raises = event.term is None
        yield Report(
            event.node,
            alone if raises else term,
            hint=_HINT,
            related=_related(event),
            effect="raises" if raises else None,
            repair=_repair(event.node),
        )


def _repair(node: cst.CSTNode) -> Repair | None:
    return with_argument(node, "create_graph=True", safe=False)


def _related(event: GradientWithoutGraph) -> tuple[tuple[cst.CSTNode, str], ...]:
    if event.term is None:
        return ((event.backward, "torch raises here"),)
    return (event.term, "this term of the loss is a constant"), (event.backward, "the backward of the loss")


_HINT = "pass `create_graph=True` to `torch.autograd.grad`"
