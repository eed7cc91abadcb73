from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.backward import GradientWithoutGraph
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Repair, Report


class GradWithoutCreateGraph(EventRule[GradientWithoutGraph | LostLeaf]):
    """A gradient computed without `create_graph=True` is used in a loss, where it has no effect on training.

    What torch does
        Without `create_graph=True` the results of `torch.autograd.grad` have no graph. A penalty
        computed from them is a constant: added to a loss, it changes the value but no gradient. On
        its own, its backward raises a RuntimeError: "element 0 of tensors does not require grad".

    Why it matters
        A gradient penalty (WGAN-GP, R1), the residual of a differential equation or a curvature term
        appears in the loss but has no effect on training. `retain_graph=True` does not help: it
        keeps the old graph and does not create a new one.

    When it may be wrong
        If the term is only added for logging. Detached terms are not reported. Gradients that only
        scale a loss or update a tensor (first-order meta-learning, adversarial steps) are reported
        only if, without them, no parameter of an optimizer gets a gradient.

    Instead
        Pass `create_graph=True`: `torch.autograd.grad(outputs, inputs, create_graph=True)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD214"
    name = "grad-without-create-graph"
    effect = "silent"
    fix = "unsafe"
    torch_says = ("element 0 of tensors does not require grad",)
    bad = """\
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 2, requires_grad=True)
score = critic(x).mean()
(slope,) = torch.autograd.grad(score, x, retain_graph=True)  # GRD214
penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
loss = score + 10 * penalty
loss.backward()
"""
    bad_shows = "not penalty.requires_grad"
    good = """\
import torch
from torch import nn

critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
x = torch.randn(4, 2, requires_grad=True)
score = critic(x).mean()
(slope,) = torch.autograd.grad(score, x, create_graph=True)
loss = score + 10 * ((slope.norm(2, dim=1) - 1) ** 2).mean()
loss.backward()
"""

    def check(self, event: GradientWithoutGraph | LostLeaf) -> Report | None:
        """Report the gradient: it is a term of a loss, all of a root, or the only path to the trained parameters."""
        if isinstance(event, LostLeaf):
            if event.kind == "grad" and event.idle:
                return report(event, "these gradients have no graph", _HINT, _repair(event.node))
            return None
        raises = event.term is None
        follows = ": the term of the loss computed from them has no effect on training"
        if raises:
            follows = ", and the differentiated tensor depends on nothing else: torch raises in backward"
        backward = "torch raises here" if raises else "the backward of the loss"
        return Report(
            event.node,
            f"these gradients have no graph{follows}",
            hint=_HINT,
            related=((event.term, "this term of the loss is a constant"), (event.backward, backward)),
            effect="raises" if raises else None,
            repair=_repair(event.node),
        )


def _repair(node: cst.CSTNode) -> Repair | None:
    return with_argument(node, "create_graph=True", safe=False)


_HINT = "pass `create_graph=True` to `torch.autograd.grad`"
