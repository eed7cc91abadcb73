from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class GradAssignedMismatch(EventRule[refusal.GradientMismatch]):
    """Something other than a tensor of the same shape and dtype is assigned to `.grad`.

    What torch does
        It raises a RuntimeError: "attempting to assign a gradient of size '[3]' to a tensor of size '[2, 3]'", or, for
        another dtype, "attempting to assign a gradient with dtype 'double'". For a number it raises a TypeError:
        "assigned grad expected to be a Tensor or None but got grad of type int".

    Why it matters
        A gradient has the shape and dtype of its tensor. A gradient that is computed by hand or averaged between
        workers is often flat, or has numpy's float64. `p.grad = 0` does not clear a gradient.

    When it may be wrong
        If the line is never executed.

    Instead
        Convert it first: `p.grad = g.view_as(p).to(p.dtype)`. To clear a gradient, assign None.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
    """

    code = "GRD218"
    name = "grad-assigned-mismatch"
    effect = "raises"
    raises = "attempting to assign a gradient|assigned grad expected to be a Tensor or None"
    torch_says = ("attempting to assign a gradient", "assigned grad expected", "can't assign Variable as its own grad")
    bad = """\
import torch

w = torch.zeros(2, 3, requires_grad=True)
w.grad = torch.ones(6)  # GRD218
"""
    good = """\
import torch

w = torch.zeros(2, 3, requires_grad=True)
w.grad = torch.ones(6).view_as(w)
"""
    good_shows = "w.grad.shape == w.shape"

    def check(self, event: refusal.GradientMismatch) -> Report | None:
        if event.itself:
            return Report(
                event.node,
                "the tensor is assigned to its own `.grad`: torch raises here",
                hint="assign a copy: `p.grad = p.detach().clone()`",
            )
        return Report(
            event.node,
            "the value assigned to `.grad` is not a tensor of the same shape and dtype: torch raises here",
            hint="convert it with `g.view_as(p).to(p.dtype)`, or assign None",
        )
