"""GRD308: an optimizer holds parameters that no loss of the program depends on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import lost_gradient as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class ParameterNeverReached(Rule):
    """An optimizer holds parameters that no loss of the program depends on.

    What torch does
        Nothing: a parameter whose `.grad` is None is left out by `optimizer.step()`. Only
        `DistributedDataParallel` complains, at the second turn: "Expected to have finished reduction in
        the prior iteration".

    Why it matters
        The layer stands in the constructor and was forgotten in `forward`, or `forward` uses another
        one twice. The network trains without it, and nobody notices.

    When it may be wrong
        Where the layer is used in another file, or kept so that old checkpoints can be loaded. Only
        files in which the backward and every use of the network are seen are judged.

    Instead
        Use the layer, or take it away.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "GRD308"
    name = "parameter-never-reached"
    effect = "fragile"
    events = (fault.ParameterNeverReached,)
    bad = (
        Bad(
            """\
import torch

w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)  # GRD308
optimizer = torch.optim.SGD([w, b], lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8)
for _ in range(3):
    optimizer.zero_grad()
    (x @ w - y).pow(2).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(b) and w.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model, extra = nn.Linear(2, 1), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*model.parameters(), *extra.parameters()], lr=0.1)
for x in torch.randn(5, 4, 2):
    optimizer.zero_grad()
    (model(x) * extra(x)).pow(2).mean().backward()
    optimizer.step()
""",
            shows="extra.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at what makes the parameters."""
        assert isinstance(event, fault.ParameterNeverReached)
        yield Report(
            event.node,
            "an optimizer holds what is made here, and no loss of the program depends on it: it is never trained",
            hint="use it in `forward`, or take it away",
        )
