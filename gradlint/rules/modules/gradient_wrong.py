from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.base import EventRule, Report


class GradientWrong(EventRule[fault.GradientWrong]):
    """The backward of a custom function returns something else than the derivative.

    What torch does
        It uses what `backward` returns, and never compares it with `forward`.

    Why it matters
        The training runs and converges worse, or to something else. A factor, a sign, a saved input that is used as
        if it were the result, or two gradients in the wrong order show in no error.

    When it may be wrong
        If the gradient is another one on purpose. gradlint compares both formulas at a few numbers, and reports a
        gradient that is wrong at all of them. It reports no gradient of a function whose derivative is zero or that
        returns its argument, as for a straight-through estimator or a gradient reversal. A gradient of ReLU that is
        masked by the sign of the incoming gradient is that of a deconvolutional network, and the finding is a warning.

    Instead
        Return the derivative times the incoming gradient, and check it with `torch.autograd.gradcheck`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.gradcheck.gradcheck.html
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    code = "GRD634"
    name = "gradient-wrong"
    effect = "silent"
    bad = """\
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x**2  # GRD634


x = torch.ones(3, requires_grad=True)
Cube.apply(x).sum().backward()
"""
    bad_shows = "differs_from_finite_differences(lambda: (x**3).sum(), x)"
    good = """\
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 3 * x**2


x = torch.ones(3, requires_grad=True)
Cube.apply(x).sum().backward()
"""
    good_shows = "x.grad.sum() == 9"

    def check(self, event: fault.GradientWrong) -> Report | None:
        """Report the backward, with a number at which the gradient is wrong."""
        which = f"for argument {event.position + 1} of `forward`"
        if event.masks:
            return Report(
                event.node,
                f"the gradient {which} is masked by the incoming gradient: where the function is flat, it is not zero",
                hint="save the argument, and mask the gradient where the argument is out of range",
                effect="fragile",
            )
        if event.forward:
            return Report(
                event.node,
                f"`jvp` returns a wrong tangent {which}: at {event.point:g} the derivative is {event.wanted:.4g}, and "
                f"it multiplies by {event.got:.4g}",
                hint="return the sum of each derivative times its tangent, and check it with `gradcheck`",
            )
        wanted = f"at {event.point:g} the derivative is {event.wanted:.4g}"
        return Report(
            event.node,
            f"`backward` returns a wrong gradient {which}: {wanted}, and it multiplies by {event.got:.4g}",
            hint="return the derivative times the incoming gradient, and check it with `gradcheck`",
        )
