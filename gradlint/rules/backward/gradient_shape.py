from __future__ import annotations

from gradlint.domain.refusal.backward import GradientIsNumber, GradientShapeMismatch
from gradlint.rules.authoring.phrases import sizes
from gradlint.rules.authoring.repairs import ones_as_gradient
from gradlint.rules.base import EventRule, Report


class GradientShape(EventRule[GradientShapeMismatch | GradientIsNumber]):
    """The gradient passed to `backward` or `autograd.grad` has a different shape from its tensor.

    What torch does
        It raises a RuntimeError: "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a
        shape of torch.Size([3])." The gradient is not broadcast: `torch.ones(1)` is rejected for a tensor without
        dimensions. A different floating-point dtype is accepted. For a root that is not the first of several, torch
        2.13 fails while formatting its error message and raises a different one.

    Why it matters
        The gradient argument holds one weight for each element of the output, so it has the output's shape.

    When it may be wrong
        If the line is never executed. Unknown sizes are never reported.

    Instead
        Pass `torch.ones_like(y)` or weights of the same shape. A loss of one element needs no argument.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD202"
    name = "gradient-shape"
    effect = "raises"
    raises = "Mismatch in shape"
    fix = "unsafe"
    bad = """\
import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones(1))  # GRD202
"""
    good = """\
import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones_like(y))
"""
    good_shows = "x.grad.tolist() == [2, 2, 2]"

    def check(self, event: GradientShapeMismatch | GradientIsNumber) -> Report | None:
        """Report a gradient of a different shape, or one that is not a tensor."""
        keyword = "gradient" if event.call == "backward" else "grad_outputs"
        if isinstance(event, GradientIsNumber):
            return Report(
                event.node,
                f"`{keyword}` is a number and must be a tensor: torch raises here",
                hint="pass a tensor of the same shape as the root, or nothing if the root has one element",
            )
        shape = sizes(event.shape)
        tensor = f"its tensor of shape {shape}" if shape else "its tensor"
        return Report(
            event.node,
            f"`{keyword}` has a different shape from {tensor}, and is not broadcast: torch raises here",
            hint="pass `torch.ones_like(...)` of the tensor, or weights of its shape",
            related=((event.root, "backward starts at this tensor"),),
            repair=ones_as_gradient(event.node, safe=False),
        )
