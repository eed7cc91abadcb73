from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class StepMissing(EventRule[fault.StepMissing]):
    """Gradients are computed and cleared, and no step of the optimizer uses them.

    What torch does
        `backward` fills `.grad`; the parameters change in `optimizer.step()` alone. torch is silent.

    Why it matters
        Nothing is trained, and the loss does not decrease.

    When it may be wrong
        If the program reads the gradients and updates the parameters where gradlint does not look.

    In a run
        `gradlint run` also reports a backward that reaches a second network, as the generator behind a batch that was
        not detached, whose gradients are cleared each time before the optimizer of that network uses any. That costs
        time, and is a warning.

    Instead
        Call `step` after `backward`, before the gradients are cleared.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
    """

    code = "GRD519"
    name = "step-missing"
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
    loss.backward()  # GRD519
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

    def check(self, event: fault.StepMissing) -> Report | None:
        """Report the backward, with the place that clears its gradients."""
        if event.beyond is not None:
            return Report(
                event.node,
                "no step uses a part of the gradients of this backward: they are computed and cleared each time",
                hint="give it the value without its graph (`.detach()`), if it is not meant to train what is behind",
                related=((event.beyond, "all behind this value is for nothing"), (event.cleared, "cleared here")),
                severity="warning",
            )
        return Report(
            event.node,
            "no step uses the gradients of this backward: nothing is trained",
            hint="call the optimizer's `step` after the backward",
            related=((event.cleared, "here the gradients are cleared"),),
        )
