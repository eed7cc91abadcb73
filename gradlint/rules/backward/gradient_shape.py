from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.refusal import backward as refusal
from gradlint.rules.authoring.phrases import sizes
from gradlint.rules.authoring.repairs import ones_as_gradient
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = (
    refusal.GradientShapeMismatch
    | refusal.GradientComplexMismatch
    | refusal.GradientCountMismatch
    | refusal.GradientIsNumber
)


class GradientShape(EventRule[_Event]):
    """The gradient passed to `backward` or `autograd.grad` has a different shape from its tensor.

    What torch does
        It raises a RuntimeError: "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and output[0] has a
        shape of torch.Size([3])." The gradient is not broadcast: `torch.ones(1)` is rejected for a tensor without
        dimensions. With `is_grads_batched=True`, the gradient has a first dimension in addition to those of the tensor.
        A different floating-point dtype is accepted, but not a complex gradient for a real tensor, nor the other way
        round. Several tensors need as many gradients: "got 2 tensors and 1 gradients". For a root that is not the first
        of several, torch 2.13 fails while formatting its error message and raises a different one.

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
    torch_says = (
        "Mismatch in shape",
        "is_grads_batched",
        "required to have the same dtype",
        "got \\d+ tensors and \\d+ gradients",
        "is not iterable",
        "must be a Tensor|must be either",
    )
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

    def check(self, event: _Event) -> Report | None:
        """Report a gradient of a different shape or kind, one that is not a tensor, or a wrong number of them."""
        keyword = "gradient" if event.call == "backward" else "grad_outputs"
        if isinstance(event, refusal.GradientCountMismatch):
            several, given = (f"{n} tensor{'s' * (n != 1)}" for n in (event.tensors, event.gradients))
            return Report(
                event.node,
                f"{given} as gradient for {several}: torch raises here",
                hint="pass one gradient for each tensor; None for a tensor of one element",
            )
        if isinstance(event, refusal.GradientComplexMismatch):
            return Report(
                event.node,
                f"of `{keyword}` and its tensor, only one is complex: torch raises here",
                hint="pass `torch.ones_like(...)` of the tensor, or weights of its dtype",
                related=((event.root, "backward starts at this tensor"),),
            )
        if isinstance(event, refusal.GradientIsNumber):
            return Report(
                event.node,
                f"`{keyword}` is a number and must be a tensor: torch raises here",
                hint="pass a tensor of the same shape as the root, or nothing if the root has one element",
            )
        shape = sizes(event.shape)
        tensor = f"its tensor of shape {shape}" if shape else "its tensor"
        if event.batched:
            return Report(
                event.node,
                f"after its first dimension, `{keyword}` has a different shape from {tensor}: torch raises here",
                hint="with `is_grads_batched=True`, stack gradients of the shape of the tensor",
                related=((event.root, "backward starts at this tensor"),),
            )
        return Report(
            event.node,
            f"`{keyword}` has a different shape from {tensor}, and is not broadcast: torch raises here",
            hint="pass `torch.ones_like(...)` of the tensor, or weights of its shape",
            related=((event.root, "backward starts at this tensor"),),
            repair=ones_as_gradient(event.node, safe=False),
        )
