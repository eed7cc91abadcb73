"""GRD623: the backward of a custom function returns another number of gradients than forward has arguments."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import functions as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class GradientCount(Rule):
    """The backward of a custom function returns another number of gradients than forward has arguments.

    What torch does
        At the backward of a loss it raises a RuntimeError: "function SquareBackward returned an incorrect
        number of gradients (expected 2, got 1)". It wants one for each argument that `apply` was given;
        further ones may be None.

    Why it matters
        The error comes from the engine, without a line of the function in it, and only once a loss is
        backpropagated.

    When it may be wrong
        Where the function is never differentiated.

    Instead
        Return as many values as `forward` has arguments behind `ctx`, with None for those that are no
        tensors or need no gradient.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD623"
    name = "gradient-count"
    effect = "raises"
    events = (fault.GradientCount,)
    bad = (
        Bad(
            """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):  # GRD623
        return grad_output * ctx.factor


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()  # raises
""",
            error="returned an incorrect number of gradients",
        ),
    )
    good = (
        Good(
            """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()
""",
            shows="x.grad.sum() == 9",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the backward."""
        assert isinstance(event, fault.GradientCount)
        count = f"{event.got} where it should return {event.wanted}"
        yield Report(
            event.node,
            f"backward returns {count}, one for each argument of forward: torch raises at backward",
            hint="return one value for each argument, None where there is no gradient",
        )
