from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class BackwardMissing(EventRule[fault.BackwardMissing]):
    """An optimizer steps, and no backward fills the gradients of its parameters.

    What torch does
        A step skips every parameter whose `.grad` is None. torch is silent.

    Why it matters
        Nothing is trained, and the loss does not decrease.

    When it may be wrong
        If the gradients are filled where gradlint does not look.

    Instead
        Call `loss.backward()` before the step.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    """

    code = "GRD520"
    name = "backward-missing"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for x in torch.randn(8, 4, 3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    optimizer.step()  # GRD520
"""
    bad_shows = "torch.equal(model.weight, before)"
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for x in torch.randn(8, 4, 3):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    good_shows = "not torch.equal(model.weight, before)"

    def check(self, event: fault.BackwardMissing) -> Report | None:
        """Report the step."""
        return Report(
            event.node,
            "this step finds no gradients: no backward fills any, and nothing is trained",
            hint="call `backward` on the loss before the step",
        )
