"""GRD402: the only way from a loss to a leaf goes through an operation whose slope is zero everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule


class ZeroGradientOp(Rule):
    """The only way from a loss to a leaf goes through an operation whose slope is zero everywhere.

    What torch does
        `round`, `floor`, `ceil`, `trunc`, `sign` and a division with a rounding mode have a gradient, and it is zero:
        the graph is whole, backward runs, `.grad` is filled with zeros.

    Why it matters
        Nothing raises, no `.grad` is None, the optimizer steps, and the parameters stay as they are.
        Quantisation, counting and hard thresholds are written this way.

    When it may be wrong
        Where another loss trains the parameters in a way that gradlint does not see.

    Instead
        Leave the rounding to the evaluation, use a smooth function (`tanh` for `sign`, `sigmoid` for a
        step), or the straight-through trick `x + (x.round() - x).detach()`, which rounds forward and
        passes the gradient on.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.round.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
    """

    code = "GRD402"
    name = "zero-gradient-op"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
count = torch.randint(0, 5, (8, 1)).float()
prediction = torch.round(model(torch.randn(8, 4)))  # GRD402
loss = nn.functional.mse_loss(prediction, count)
loss.backward()
""",
            shows="grad_is_zero(model.weight)",
        ),
        Bad(
            """\
import torch

weight = torch.randn(4, requires_grad=True)
bias = torch.zeros((), requires_grad=True)
binary = weight.sign()  # GRD402
loss = (torch.randn(8, 4) @ binary + bias - 1).pow(2).mean()
loss.backward()
""",
            shows="grad_is_zero(weight) and bool(bias.grad)",
        ),
        Bad(
            """\
import torch

x = torch.rand(16, requires_grad=True)
loss = (x * 8).div(1, rounding_mode="floor").sum()  # GRD402
loss.backward()
""",
            shows="grad_is_zero(x)",
        ),
        Bad(
            """\
import torch
from torch import nn

m = nn.Linear(2, 3)
codes = m(torch.randn(4, 2)).floor()  # GRD402
(codes - 1).pow(2).mean().backward()
""",
            shows="not m.weight.grad.any()",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
output = model(torch.randn(8, 4))
rounded = output + (output.round() - output).detach()
rounded.pow(2).mean().backward()
""",
            shows="not grad_is_zero(model.weight)",
        ),
        Good(
            """\
import torch

w = torch.rand(4, requires_grad=True)
x = torch.rand(4)
(w * x.floor() + (w - w.round()).abs()).sum().backward()
""",
            shows="w.grad.any()",
        ),
        Good(
            """\
import torch
from torch import nn

m = nn.Linear(2, 3)
raw = m(torch.randn(4, 2))
codes = raw + (raw.round() - raw).detach()
(codes - 1).pow(2).mean().backward()
""",
            shows="m.weight.grad.any()",
        ),
        Good(
            """\
import torch
from torch import nn

m = nn.Linear(2, 1)
out = m(torch.randn(4, 2))
out.pow(2).mean().backward()
print(out.round(), out.sign().mean())
""",
            shows="m.weight.grad.any()",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An operation of zero slope on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "zero":
            return
        what = f"the gradient of {operation(event.op, event.node)} is zero everywhere"
        yield report(event, what, "round outside of the loss, or pass the gradient by `x + (x.round() - x).detach()`")
