"""GRD219: a hook or `retain_grad()` is asked of a tensor that does not require grad."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import backward as refusal
from gradlint.rules.base import Bad, Good, Report, Rule


class HookWithoutGrad(Rule):
    """A hook or `retain_grad()` is asked of a tensor that does not require grad.

    What torch does
        It raises a RuntimeError: "cannot register a hook on a tensor that doesn't require gradient", or
        "can't retain_grad on Tensor that has requires_grad=False".

    Why it matters
        No gradient will ever arrive, so that the hook would never run. Mostly the tensor is data, or
        the graph was cut before it.

    When it may be wrong
        Where the line is never reached, or the tensor is made to require grad by something that
        gradlint does not see.

    Instead
        Call `requires_grad_()` on the tensor before, or take the hook to a tensor on the way of the
        gradient.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
    """

    code = "GRD219"
    name = "hook-without-grad"
    effect = "raises"
    events = (refusal.HookWithoutGrad,)
    torch_says = r"cannot register a hook on a tensor|can't retain_grad on|hooks cannot be registered on non-leaf"
    bad = (
        Bad(
            """\
import torch

x = torch.randn(4)
x.register_hook(print)  # GRD219
""",
            error="cannot register a hook on a tensor that doesn't require gradient",
        ),
        Bad(
            """\
import torch
from torch import nn

layer = nn.Linear(4, 2)
with torch.no_grad():
    hidden = layer(torch.randn(3, 4))
hidden.retain_grad()  # GRD219
""",
            error="can't retain_grad on Tensor that has requires_grad=False",
        ),
        Bad(
            """\
import torch
from torch import nn

encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
for parameter in encoder.parameters():
    parameter.requires_grad = False
features = encoder(torch.randn(2, 4))
features.register_hook(lambda grad: grad * 0.1)  # GRD219
head(features).sum().backward()
""",
            error="cannot register a hook on a tensor that doesn't require gradient",
        ),
        Bad(
            """\
import torch


class Probe:
    def __init__(self):
        self.kept = []

    def watch(self, tensor):
        tensor.retain_grad()  # GRD219
        self.kept.append(tensor)


w = torch.ones(3, requires_grad=True)
Probe().watch((w * 2).detach())
""",
            error="can't retain_grad on Tensor that has requires_grad=False",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.randn(4, requires_grad=True)
x.register_hook(print)
x.sum().backward()
""",
        ),
        Good(
            """\
import torch
from torch import nn

layer = nn.Linear(4, 2)
hidden = layer(torch.randn(3, 4))
hidden.retain_grad()
hidden.sum().backward()
""",
            shows="hidden.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

encoder, head = nn.Linear(4, 4), nn.Linear(4, 1)
for parameter in encoder.parameters():
    parameter.requires_grad = False
features = encoder(torch.randn(2, 4))
if features.requires_grad:
    features.register_hook(lambda grad: grad * 0.1)
head(features).sum().backward()
""",
            shows="encoder.weight.grad is None",
        ),
        Good(
            """\
import torch

kept = []
w = torch.ones(3, requires_grad=True)
kept.append(w * 2)
kept[0].retain_grad()
kept[0].sum().backward()
""",
            shows="kept[0].grad.tolist() == [1.0, 1.0, 1.0]",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the call that torch refuses."""
        assert isinstance(event, refusal.HookWithoutGrad)
        yield Report(
            event.node,
            f"`{event.method}` is called on a tensor that does not require grad: torch raises here",
            hint="call `requires_grad_()` on it first, or take a tensor on the way of the gradient",
        )
