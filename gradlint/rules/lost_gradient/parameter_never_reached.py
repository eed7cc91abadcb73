from __future__ import annotations

from gradlint.domain.fault import lost_gradient as fault
from gradlint.rules.base import EventRule, Report


class ParameterNeverReached(EventRule[fault.ParameterNeverReached]):
    """An optimizer has parameters that no loss of the program depends on.

    What torch does
        Nothing: `optimizer.step()` skips a parameter whose `.grad` is None. Only `DistributedDataParallel` raises, in
        the second iteration: "Expected to have finished reduction in the prior iteration".

    Why it matters
        The layer is created in `__init__` but never used in `forward`, or `forward` uses another
        layer twice. The network silently trains without it.

    When it may be wrong
        If the layer is used in another file, or kept so that old checkpoints can be loaded. A file
        is checked only if it contains the backward and every use of the network.

    Instead
        Use the layer, or remove it.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "GRD308"
    name = "parameter-never-reached"
    effect = "fragile"
    bad = """\
import torch

w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)  # GRD308
optimizer = torch.optim.SGD([w, b], lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8)
for _ in range(3):
    optimizer.zero_grad()
    (x @ w - y).pow(2).mean().backward()
    optimizer.step()
"""
    bad_shows = "grad_is_none(b) and w.grad is not None"
    good = """\
import torch
from torch import nn

model, extra = nn.Linear(2, 1), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*model.parameters(), *extra.parameters()], lr=0.1)
for x in torch.randn(5, 4, 2):
    optimizer.zero_grad()
    (model(x) * extra(x)).pow(2).mean().backward()
    optimizer.step()
"""
    good_shows = "extra.weight.grad is not None"

    def check(self, event: fault.ParameterNeverReached) -> Report | None:
        return Report(
            event.node,
            "no loss of the program depends on these parameters of an optimizer: they are never trained",
            hint="use them in `forward`, or remove them",
        )
