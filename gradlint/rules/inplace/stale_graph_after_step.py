from __future__ import annotations

from gradlint.domain.refusal.backward import StaleSaved
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class StaleGraphAfterStep(EventRule[StaleSaved]):
    """An optimizer steps between the forward and the backward of a graph that uses its parameters.

    What torch does
        A step updates every parameter that has a gradient in place. A graph built before the step has
        saved the old parameters (a linear layer saves its weight for the gradient of its input), and
        its backward raises a RuntimeError: "one of the variables needed for gradient computation has
        been modified by an inplace operation". The first layer's weight is not needed if its input
        does not require grad, so a network of one layer may not raise.

    Why it matters
        The usual case is two networks that share a forward: the discriminator steps between the generator's forward and
        backward, or the critic between the policy's. The program contains no visible in-place operation, and the error
        names none. `retain_graph=True` is often tried and does not help.

    When it may be wrong
        If the step does not run before that backward.

    Instead
        Run all backwards before the first step, or compute the second loss after the step, with a new
        forward. Pass `fake.detach()` to the discriminator in its own loss.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
    """

    code = "GRD104"
    name = "stale-graph-after-step"
    effect = "raises"
    raises = "modified by an inplace operation"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first, second = model(torch.randn(3, 4)).pow(2).sum(dim=0)
for loss in (first, second):
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # raises
    optimizer.step()  # GRD104
"""
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first, second = model(torch.randn(3, 4)).pow(2).sum(dim=0)
first.backward(retain_graph=True)
second.backward()
optimizer.step()
"""

    def check(self, event: StaleSaved) -> Report | None:
        """Report a write by an optimizer, at the step."""
        if event.by != "optimizer.step":
            return None
        saver = operation(event.saver_op, event.saver)
        return Report(
            event.node,
            "this step changes parameters that an earlier graph has saved: torch raises at that graph's backward",
            hint="run both backwards before the step, or compute the second loss after it, with a new forward",
            related=((event.saver, f"{saver} saves them here"), (event.backward, "this backward needs the old values")),
        )
