from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.phrases import article
from gradlint.rules.base import EventRule, Report


class SavedNotTensor(EventRule[refusal.SavedNontensor]):
    """A custom function passes something that is not a tensor to `save_for_backward` or `mark_dirty`.

    What torch does
        When `forward` is over, `apply` raises a TypeError if an argument requires grad: "save_for_backward can only
        save variables, but argument 1 is of type int". Tensors and None are accepted, and a list of tensors is not.
        `mark_dirty` and `mark_non_differentiable` raise a RuntimeError: "mark_dirty can only accept variables".

    Why it matters
        The call works as long as no argument requires grad, as in a test of `forward` alone.

    When it may be wrong
        If no argument of `apply` ever requires grad.

    Instead
        Assign numbers and shapes to attributes, `ctx.dim = dim`, and unpack lists: `save_for_backward(*tensors)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.function.FunctionCtx.save_for_backward.html
    """

    code = "GRD633"
    name = "saved-not-tensor"
    effect = "raises"
    raises = "save_for_backward can only save variables"
    torch_says = (
        "save_for_backward can only save variables",
        "mark_dirty can only accept variables",
        "mark_non_differentiable only accepts variable",
    )
    bad = """\
import torch


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.save_for_backward(x, exponent)  # GRD633
        return x**exponent

    @staticmethod
    def backward(ctx, grad_output):
        x, exponent = ctx.saved_tensors
        return grad_output * exponent * x ** (exponent - 1), None


x = torch.ones(3, requires_grad=True)
Power.apply(x, 3).sum().backward()  # raises
"""
    good = """\
import torch


class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, exponent):
        ctx.save_for_backward(x)
        ctx.exponent = exponent
        return x**exponent

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * ctx.exponent * x ** (ctx.exponent - 1), None


x = torch.ones(3, requires_grad=True)
Power.apply(x, 3).sum().backward()
"""
    good_shows = "x.grad.sum() == 9"

    def check(self, event: refusal.SavedNontensor) -> Report | None:
        unpack = event.kind in ("list", "tuple")
        given = f"{article(event.kind)} {event.kind}"
        return Report(
            event.node,
            f"`{event.method}` is given {given}: `apply` raises"
            f"{'' if event.method == 'mark_dirty' else ' if an argument requires grad'}",
            hint="unpack the tensors with `*`" if unpack else "assign it to an attribute of `ctx`",
        )
