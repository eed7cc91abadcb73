from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.base import EventRule, Report


class SavedIntermediate(EventRule[fault.SavedIntermediate]):
    """A custom function saves a tensor that is neither an input nor an output.

    What torch does
        It saves the tensor, but the tensor has no graph, because `forward` runs with grad mode disabled. A
        second derivative through it is silently missing.

    Why it matters
        A gradient penalty or a Hessian then lacks a term, or the first gradient does not require grad at all.

    When it may be wrong
        If no second derivative is computed, as in nearly all programs. The rule is therefore off by default.

    Instead
        Return the intermediate tensor as an additional output, save only inputs and outputs, or
        decorate `backward` with `@once_differentiable`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD627"
    name = "saved-intermediate"
    effect = "fragile"
    default = False
    bad = """\
import torch


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.pow(2).sum().sqrt()
        unit = x / length
        ctx.save_for_backward(unit)  # GRD627
        return length

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(Norm.apply(x), x, create_graph=True)
"""
    bad_shows = "not slope.requires_grad"
    good = """\
import torch


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.pow(2).sum().sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        x, length = ctx.saved_tensors
        return grad_output * x / length


x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(Norm.apply(x), x, create_graph=True)
"""
    good_shows = "slope.requires_grad"

    def check(self, event: fault.SavedIntermediate) -> Report | None:
        return Report(
            event.node,
            "the saved tensor is neither an input nor an output: second derivatives through it are silently missing",
            hint="save inputs and outputs only, or return it as an additional output",
        )
