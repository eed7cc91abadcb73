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
    torch_says = ("element 0 of tensors does not require grad",)
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
