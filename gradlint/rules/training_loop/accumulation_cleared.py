from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class AccumulationCleared(EventRule[fault.AccumulationCleared]):
    """Gradients are cleared in every iteration, and used by a step only in every n-th.

    What torch does
        `backward` adds to `.grad`, and a step in every n-th iteration should use the sum. Cleared in between, the sum
        is that of the last iteration alone: the backwards of all others are thrown away.

    Why it matters
        The batch is n times smaller than intended, n - 1 of n samples train nothing, and a loss that is divided by n
        makes the steps n times smaller.

    When it may be wrong
        If the backwards of the other iterations are run for something else, such as hooks.

    Instead
        Clear the gradients under the condition of the step, after it; or step in every iteration.

    References
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation
    """

    code = "GRD518"
    name = "accumulation-cleared"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
batches = torch.randn(12, 4, 3)
before = model.weight.detach().clone()
for i, x in enumerate(batches):
    optimizer.zero_grad()  # GRD518
    loss = model(x).sum() / 12
    loss.backward()
    if (i + 1) % 12 == 0:
        optimizer.step()
"""
    bad_shows = "torch.allclose(model.weight, before - batches[-1].sum(0) / 12)"
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
batches = torch.randn(12, 4, 3)
before = model.weight.detach().clone()
for i, x in enumerate(batches):
    loss = model(x).sum() / 12
    loss.backward()
    if (i + 1) % 12 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
    good_shows = "torch.allclose(model.weight, before - batches.sum((0, 1)) / 12, atol=1e-5)"

    def check(self, event: fault.AccumulationCleared) -> Report | None:
        """Report where the gradients are cleared, with the backward that filled them and the step that comes later."""
        return Report(
            event.node,
            "this drops the gradients of each iteration without a step: the step uses those of one iteration alone",
            hint="clear the gradients under the condition of the step, after it",
            related=(
                (event.backward, "this backward filled the gradients"),
                (event.step, "this step runs in some iterations only"),
            ),
        )
