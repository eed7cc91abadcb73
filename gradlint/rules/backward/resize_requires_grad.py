from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class ResizeRequiresGrad(EventRule[refusal.Resized]):
    """`resize_` is called on a tensor that requires grad.

    What torch does
        It raises a RuntimeError: "cannot resize variables that require grad". It does so in every grad mode.

    Why it matters
        `resize_` reuses memory whatever it contains, so there is no gradient for it.

    When it may be wrong
        If the line is never executed.

    Instead
        Use `view` or `reshape` for the same elements in another shape, and a new tensor or
        `torch.nn.functional.pad` for another size.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.resize_.html
        https://docs.pytorch.org/docs/stable/generated/torch.reshape.html
    """

    code = "GRD221"
    name = "resize-requires-grad"
    effect = "raises"
    raises = "cannot resize variables that require grad"
    bad = """\
import torch

w = torch.randn(2, 3, requires_grad=True)
w.resize_(6)  # GRD221
"""
    good = """\
import torch

w = torch.randn(2, 3, requires_grad=True)
w.reshape(6).sum().backward()
"""

    def check(self, event: refusal.Resized) -> Report | None:
        return Report(
            event.node,
            "`resize_` is called on a tensor that requires grad: torch raises here",
            hint="use `reshape` or `view` for another shape, or a new tensor for another size",
        )
