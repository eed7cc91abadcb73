from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.base import EventRule, Report


class GradientIgnored(EventRule[fault.GradientIgnored]):
    """The backward of a custom function does not use its incoming gradient.

    What torch does
        It uses the value returned by `backward` as the gradient of the loss. If that value is only
        the derivative of the function, the chain rule is incomplete: everything between this
        function and the loss is treated as if its derivative were 1. A `backward` that computes gradients and
        returns nothing returns None: no gradient flows back, and torch raises nothing.

    Why it matters
        The gradient is correct if the result is the loss itself, and wrong as soon as the result is
        scaled, averaged or passed to another operation.

    When it may be wrong
        If the result of the function is always the loss itself. If the result may have a single
        element, the finding is a warning.

    Instead
        Multiply by the incoming gradient: `return grad_output * derivative`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD624"
    name = "gradient-ignored"
    effect = "silent"
    bad = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x  # GRD624


x = torch.ones(3, requires_grad=True)
loss = (Square.apply(x) * 3).sum()
loss.backward()
"""
    bad_shows = "differs_from_finite_differences(lambda: (x**2 * 3).sum(), x)"
    good = """\
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
(Square.apply(x) * 3).sum().backward()
"""
    good_shows = "x.grad.sum() == 18"

    def check(self, event: fault.GradientIgnored) -> Report | None:
        """Report the backward; where the gradient may be of one element, it may be constant."""
        if event.nothing:
            return Report(
                event.node,
                "`backward` has no `return`: no gradient reaches the arguments",
                hint="return the gradients",
            )
        return Report(
            event.node,
            "`backward` does not use its incoming gradient: the operations between this function and the "
            "loss are ignored",
            hint="multiply the derivative by the incoming gradient",
            effect="fragile" if event.scalar else None,
        )
