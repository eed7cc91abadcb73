from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.base import EventRule, Report


class GradientCount(EventRule[fault.GradientCount]):
    """The backward of a custom function returns the wrong number of gradients.

    What torch does
        At the backward of a loss it raises a RuntimeError: "function SquareBackward returned an incorrect number of
        gradients (expected 2, got 1)". It requires one for each argument of `apply`; additional ones must be None.

    Why it matters
        The autograd engine raises the error, without naming a line of the function, and only when a backward runs.

    When it may be wrong
        If no backward runs through the function.

    Instead
        Return as many values as `forward` has arguments after `ctx`, with None for arguments that are
        not tensors or need no gradient.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD623"
    name = "gradient-count"
    effect = "raises"
    raises = "returned an incorrect number of gradients"
    bad = """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor  # GRD623


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()  # raises
"""
    good = """\
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
"""
    good_shows = "x.grad.sum() == 9"

    def check(self, event: fault.GradientCount) -> Report | None:
        count = f"{event.got} where it should return {event.wanted}"
        return Report(
            event.node,
            f"`backward` returns {count}, one for each argument of `forward`: torch raises in backward",
            hint="return one value for each argument, and None for an argument without a gradient",
        )
