from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class StepBeforeBackward(EventRule[fault.StepBeforeBackward]):
    """An optimizer steps before the backward whose gradients it should use.

    What torch does
        The step finds no gradients and skips every parameter. The backward after it fills the gradients,
        but they are cleared before the next step, or no step follows. torch is silent.

    Why it matters
        Nothing is trained, and the loss does not decrease.

    When it may be wrong
        If the step is for other parameters.

    Instead
        Call `zero_grad`, `backward` and `step` in this order.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD503"
    name = "step-before-backward"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.weight.detach().clone()
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3)).pow(2).mean()
    optimizer.step()  # GRD503
    loss.backward()
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

    def check(self, event: fault.StepBeforeBackward) -> Report | None:
        """Report at the step, with the backward that comes after it and what becomes of its gradients."""
        fate, end = "are cleared before the next one", ""
        if event.cleared is None:
            fate, end = "no step uses", ", and no step follows"
        fills = f"this backward fills the gradients{end}"
        return Report(
            event.node,
            f"this step comes before the backward, whose gradients {fate}: nothing is trained",
            hint="call `backward` first, then `step`",
            related=((event.backward, fills), (event.cleared, "and they are thrown away here")),
        )
