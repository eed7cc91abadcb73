from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class ZeroGradMisplaced(EventRule[fault.ZeroGradMisplaced]):
    """Gradients are cleared between the backward and the step.

    What torch does
        `zero_grad` discards the gradients that the backward has just computed. The step finds none and
        silently skips every parameter.

    Why it matters
        Nothing is trained, and the loss does not decrease.

    When it may be wrong
        If the gradients are used for something else and the step is for other parameters.

    Instead
        Call `zero_grad`, `backward` and `step` in this order.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD502"
    name = "zero-grad-misplaced"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(3):
    loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.zero_grad()  # GRD502
    optimizer.step()
"""
    bad_shows = "torch.equal(model.weight, before)"
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3)).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: fault.ZeroGradMisplaced) -> Report | None:
        """Report where the gradients are cleared, between the backward that fills them and the step."""
        return Report(
            event.node,
            "this throws away the gradients that the step behind it should use: nothing is trained",
            hint="clear the gradients before the backward, or behind the step",
            related=((event.backward, "this backward filled the gradients"), (event.step, "this step finds none")),
        )
