from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class SchedulerBeforeOptimizer(EventRule[fault.SchedulerBeforeOptimizer]):
    """A learning rate scheduler steps before its optimizer.

    What torch does
        It warns: \"Detected call of `lr_scheduler.step()` before `optimizer.step()`\". The first value of
        the schedule is skipped.

    Why it matters
        The first optimizer step uses the second learning rate. This is harmless for slow schedules, but
        not for a warm-up.

    When it may be wrong
        If code that gradlint does not see steps the optimizer.

    Instead
        Call `optimizer.step()`, then `scheduler.step()`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD506"
    name = "scheduler-before-optimizer"
    effect = "fragile"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(2):
    scheduler.step()  # GRD506
    optimizer.zero_grad()
    model(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
"""
    bad_shows = "scheduler.last_epoch == 2"
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(2):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).pow(2).mean().backward()
    optimizer.step()
    scheduler.step()
"""
    good_shows = "scheduler.last_epoch == 2"

    def check(self, event: fault.SchedulerBeforeOptimizer) -> Report | None:
        """Report at the first step of the scheduler."""
        return Report(
            event.node,
            "the scheduler steps before its optimizer has: the first learning rate is skipped",
            hint="step the optimizer first",
        )
