from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.domain.finding import Severity
from gradlint.rules.base import EventRule, Report


class ZeroGradMissing(EventRule[fault.ZeroGradMissing]):
    """A backward adds to gradients that a step has already used.

    What torch does
        `backward` adds to `.grad` and does not replace it. If nothing clears the gradients between a
        step and the next backward, each step silently uses the sum of all gradients so far.

    Why it matters
        Training continues with steps that become larger and use gradients of old parameters. It looks like
        a learning rate that is too high.

    When it may be wrong
        If the old gradients are kept on purpose, as a momentum. Gradients that are accumulated before a
        single step are not reported: the sum is wrong only if a step has already used a part of it.

    Instead
        Call `optimizer.zero_grad()` once in each iteration, before the backward or after the step.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD501"
    name = "zero-grad-missing"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.ones(1, 3)
for step in range(3):
    loss = model(x).sum()
    loss.backward()  # GRD501
    optimizer.step()
"""
    bad_shows = "model.weight.grad.tolist() == [[3.0, 3.0, 3.0]]"
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

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows: loops that only measure time need not clear gradients."""
        return "warning"

    def check(self, event: fault.ZeroGradMissing) -> Report | None:
        """Report at the backward that adds to the gradients; the step is the one that has used them."""
        return Report(
            event.node,
            "this backward adds to gradients that a step has used already: nothing clears them in between",
            hint="call `optimizer.zero_grad()` once in each iteration; for a tensor, `w.grad.zero_()`",
            related=((event.step, "this step has used the gradients already"),),
        )
