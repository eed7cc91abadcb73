from __future__ import annotations

from gradlint.domain.refusal.functions import CtxAttributeMissing as Refused
from gradlint.rules.base import EventRule, Report


class CtxAttributeMissing(EventRule[Refused]):
    """The backward of a custom function reads an attribute of `ctx` that its forward does not set.

    What torch does
        The forward runs. The backward raises an AttributeError: "'ScaleBackward' object has no attribute 'factor'".

    Why it matters
        The fault shows at the first backward only, far from the forward in which the assignment is missing. Often the
        value was assigned under another name, or on one branch alone.

    When it may be wrong
        If code that gradlint does not see sets the attribute.

    Instead
        Assign it in `forward`, or in `setup_context`: `ctx.factor = factor`. Tensors go into `ctx.save_for_backward`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """

    code = "GRD630"
    name = "ctx-attribute-missing"
    effect = "raises"
    raises = "has no attribute 'factor'"
    bad = """\
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None  # GRD630


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 2.0).sum().backward()
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
Scale.apply(x, 2.0).sum().backward()
"""

    def check(self, event: Refused) -> Report | None:
        return Report(
            event.node,
            f"`forward` does not set `ctx.{event.name}`: the backward raises here",
            hint=f"assign it in `forward`: `ctx.{event.name} = ...`",
            related=((event.forward, "this `forward` does not set it"),),
        )
