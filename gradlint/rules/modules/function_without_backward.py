"""GRD629: a loss is backpropagated through a custom function that has no `backward`."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import Bad, Good, Report, Rule


class FunctionWithoutBackward(Rule):
    """A loss is backpropagated through a custom function that has no `backward`.

    What torch does
        It raises a NotImplementedError: "You must implement either the backward or vjp method for your
        custom autograd.Function to use it with backward mode AD".

    Why it matters
        A function that computes with numpy or another library in `forward` has no derivative that torch
        could know.

    When it may be wrong
        Where `backward` is given to the class from elsewhere.

    Instead
        Define `backward` as a static method; for something without a gradient return None.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD629"
    name = "function-without-backward"
    effect = "raises"
    events = (refusal.FunctionWithoutBackward,)
    bad = (
        Bad(
            """\
import torch


class Sorted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(x.numpy().copy())


w = torch.ones(3, requires_grad=True)
loss = Sorted.apply(w * 2).sum()
loss.backward()  # GRD629
""",
            error="You must implement either the backward or vjp method",
        ),
        Bad(
            """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


w = torch.ones(3, requires_grad=True)
(grad,) = torch.autograd.grad(Double.apply(w).sum(), w)  # GRD629
""",
            error="You must implement either the backward or vjp method",
        ),
        Bad(
            """\
import numpy as np
import torch


class Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.from_numpy(np.exp(x.detach().numpy()))


x = torch.ones(2, requires_grad=True)
Exponential.apply(x).sum().backward()  # GRD629
""",
            error="You must implement",
        ),
        Bad(
            """\
import torch
from torch import nn


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()


model = nn.Linear(2, 2)
(Rounded.apply(model(torch.ones(1, 2))) - 1).pow(2).sum().backward()  # GRD629
""",
            error="You must implement",
        ),
    )
    good = (
        Good(
            """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()
""",
            shows="x.grad.sum() == 6",
        ),
        Good(
            """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


w = torch.ones(3, requires_grad=True)
with torch.no_grad():
    total = Double.apply(w).sum()
""",
            shows="not total.requires_grad",
        ),
        Good(
            """\
import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()


with torch.no_grad():
    Rounded.apply(torch.ones(2, requires_grad=True))
""",
        ),
        Good(
            """\
import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


Rounded.apply(torch.ones(2, requires_grad=True)).sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at the backward; the function stands where it was applied."""
        assert isinstance(event, refusal.FunctionWithoutBackward)
        yield Report(
            event.node,
            "a custom function on the way of this backward has no `backward`: torch raises here",
            hint="define `backward` as a static method of it",
            related=((event.applied, "this function has no backward"),),
        )
