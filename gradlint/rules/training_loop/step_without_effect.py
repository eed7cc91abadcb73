from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class StepWithoutEffect(EventRule[fault.StepWithoutEffect]):
    """The steps of an optimizer change no parameter, although there are gradients.

    What torch does
        It adds the update to each parameter. If the learning rate is zero, or so small that the sum is rounded to the
        old value, each parameter keeps its bits.

    Why it matters
        Nothing is trained. A schedule that is stepped more often than its length says, such as by batches instead of
        epochs, ends in such steps; an integer division in its formula begins with them and stays there.

    When it may be wrong
        If the learning rate is zero on purpose, in order to measure something. A schedule that begins with zero, and
        one that ends with a single step of it, are not reported.

    Instead
        Look at the learning rate at this step: at the schedule, and at how often `scheduler.step()` is called.

    References
        https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate
    """

    code = "GRD523"
    name = "step-without-effect"
    effect = "fragile"
    run_only = True
    bad = """\
import torch
from torch import nn

epochs = 3
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=epochs)
for epoch in range(epochs):
    for x in torch.randn(5, 8, 4):
        before = model.weight.detach().clone()
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  # GRD523
"""
    bad_shows = "torch.equal(model.weight, before) and model.weight.grad.any()"
    good = """\
import torch
from torch import nn

epochs = 3
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=epochs)
for epoch in range(epochs):
    for x in torch.randn(5, 8, 4):
        before = model.weight.detach().clone()
        loss = model(x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
"""
    good_shows = "not torch.equal(model.weight, before)"

    def check(self, event: fault.StepWithoutEffect) -> Report | None:
        """Report the step, or the schedule; the optimizer is where the learning rate begins."""
        which = "all" if event.steps == event.of else f"{event.steps:,} of"
        rate = "" if event.rate is None else f", with a learning rate of {event.rate:.3g}"
        return Report(
            event.node,
            f"{which} {event.of:,} measured steps change no parameter, although there are gradients{rate}",
            hint="look at the learning rate, and at how often the schedule is stepped",
            related=(
                (None if event.step is event.node else event.step, "the first step that changes nothing"),
                (event.made, "the optimizer is made here"),
            ),
        )
