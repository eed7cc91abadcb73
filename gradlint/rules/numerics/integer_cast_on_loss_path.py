"""GRD403: a cast to integers or booleans stands on the only way from a loss to a leaf."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class IntegerCastOnLossPath(Rule):
    """A cast to integers or booleans stands on the only way from a loss to a leaf.

    What torch does
        Only floating and complex tensors carry gradients. `long()`, `int()`, `bool()`, `byte()` and
        `to(torch.int64)` give a tensor that does not require grad. If nothing else connects the loss
        with a leaf, its backward raises a RuntimeError: "element 0 of tensors does not require grad and
        does not have a grad_fn". If something else does, what lies behind the cast gets no gradient,
        without a word.

    Why it matters
        The cast back by `float()` makes a tensor of the right type, and the graph is gone all the same.

    When it may be wrong
        Where the integers only pick from tracked values nothing is reported, for the gradient flows
        through what they pick.

    Instead
        Keep floats up to the loss. Rounding can be passed by: `x + (x.round() - x).detach()`.

    References
        https://docs.pytorch.org/docs/stable/tensor_attributes.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD403"
    name = "integer-cast-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import torch

x = torch.rand(4, requires_grad=True)
pixels = (x * 255).int()  # GRD403
loss = (pixels / 255).pow(2).sum()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

delay = torch.tensor(2.5, requires_grad=True)
gain = torch.tensor(1.0, requires_grad=True)
steps = delay.to(torch.int64)  # GRD403
loss = (gain * torch.arange(8.0) - steps).pow(2).mean()
loss.backward()
""",
            shows="grad_is_none(delay) and gain.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn

m = nn.Linear(2, 3)
loss = m(torch.randn(4, 2)).long().float().mean()  # GRD403
loss.backward()  # raises
""",
            error="does not require grad",
        ),
        Bad(
            """\
import torch

gate = torch.rand(4, requires_grad=True)
w = torch.ones(4, requires_grad=True)
kept = gate.bool()  # GRD403
(w * kept).sum().backward()
""",
            shows="grad_is_none(gate)",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.rand(4, requires_grad=True)
pixels = x * 255
loss = (pixels / 255).pow(2).sum()
loss.backward()
print(pixels.int())
""",
            shows="x.grad is not None",
        ),
        Good(
            """\
import torch

table = torch.randn(8, 3, requires_grad=True)
x = torch.rand(5)
table[(x * 8).long()].pow(2).sum().backward()
""",
            shows="table.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

table = nn.Embedding(4, 3)
index = torch.rand(5).mul(4).long()
table(index).sum().backward()
""",
            shows="table.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

m = nn.Linear(2, 3)
out = m(torch.randn(4, 2))
out.double().mean().backward()
shown = (out.sigmoid() * 255).to(torch.uint8)
""",
            shows="m.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A cast on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "integer":
            return
        cast = operation(event.op, event.node)
        yield report(event, f"{cast} makes integers, which carry no gradient", "keep floats up to the loss")
