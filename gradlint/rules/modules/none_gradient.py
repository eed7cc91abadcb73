from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class NoneGradient(EventRule[refusal.NoneGradientArrived]):
    """The backward or `jvp` of a custom function computes with a gradient that is None.

    What torch does
        After `ctx.set_materialize_grads(False)`, `backward` gets None for each result that the loss does not depend on,
        and for each that has no gradient. Without the call, it gets zeros. `jvp` gets None for each argument that is
        not a tensor. Python raises a TypeError where the None is computed with.

    Why it matters
        The backward works as long as all results are used. A caller that ignores one of them breaks it.

    When it may be wrong
        If the backward is never executed.

    Instead
        Test each gradient for None, or remove the call of `set_materialize_grads`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.set_materialize_grads.html
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    code = "GRD636"
    name = "none-gradient"
    effect = "raises"
    raises = "NoneType"
    bad = """\
import torch


class Scales(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        return g * 2 + h * 3  # GRD636


x = torch.ones(2, requires_grad=True)
twice, thrice = Scales.apply(x)
twice.sum().backward()
"""
    good = """\
import torch


class Scales(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, g, h):
        total = 0
        if g is not None:
            total = total + g * 2
        if h is not None:
            total = total + h * 3
        return total


x = torch.ones(2, requires_grad=True)
twice, thrice = Scales.apply(x)
twice.sum().backward()
"""
    good_shows = "x.grad.sum() == 4"

    def check(self, event: refusal.NoneGradientArrived) -> Report | None:
        """Report the operation; the related places are the calls of the function and of the backward."""
        if event.tangent:
            return Report(
                event.node,
                "this computes with the tangent of an argument that is not a tensor, which is None: Python raises here",
                hint="keep the argument in `forward`, as an attribute of `ctx`, and compute with that",
                related=((event.applied, "the function is applied here"),),
            )
        return Report(
            event.node,
            "this computes with the gradient of a result that gets none, which is None because of "
            "`set_materialize_grads(False)`: Python raises here",
            hint="test the gradient for None, or remove `set_materialize_grads`",
            related=((event.applied, "the function is applied here"), (event.backward, "the backward runs here")),
        )
