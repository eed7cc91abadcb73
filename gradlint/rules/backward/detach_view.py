from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class DetachView(EventRule[refusal.DetachedView]):
    """`detach_()` is called on a view.

    What torch does
        It raises a RuntimeError: "Can't detach views in-place. Use detach() instead." It does so for
        every view: a slice, a row, an output of `split` or `view`.

    Why it matters
        A view shares its history with its base, so it cannot be detached alone. Recurrent code that
        detaches its hidden state in place raises as soon as the state is a slice.

    When it may be wrong
        If the tensor is a copy, because `reshape` or `contiguous` had to make one.

    Instead
        Assign the result of `detach()`: `h = h.detach()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach_.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    code = "GRD220"
    name = "detach-view"
    effect = "raises"
    raises = "Can't detach views in-place"
    bad = """\
import torch
from torch import nn

states = nn.Linear(4, 4)(torch.randn(3, 4))
last = states[-1]
last.detach_()  # GRD220
"""
    good = """\
import torch
from torch import nn

states = nn.Linear(4, 4)(torch.randn(3, 4))
last = states[-1].detach()
"""

    def check(self, event: refusal.DetachedView) -> Report | None:
        return Report(
            event.node,
            "`detach_()` is called on a view, which cannot be detached without its base: torch raises here",
            hint="assign the result of `.detach()` instead",
        )
