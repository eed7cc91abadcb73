from __future__ import annotations

from gradlint.domain.refusal.tensors import TruthOfMany
from gradlint.rules.base import EventRule, Report


class TruthOfTensor(EventRule[TruthOfMany]):
    """A tensor with more than one element stands where Python asks for true or false, or for a number.

    What torch does
        It raises a RuntimeError: "Boolean value of Tensor with more than one value is ambiguous". `float(x)` and
        `x.item()` raise, too: "a Tensor with 3 elements cannot be converted to Scalar".

    Why it matters
        `if w.grad:` is meant to ask whether there is a gradient. It works in the first iteration, while `.grad` is
        None, and for parameters of one element, and raises after the first backward.

    When it may be wrong
        If the line is never executed.

    Instead
        Ask `if w.grad is not None:`. For conditions on elements, reduce them with `.any()` or `.all()`, or select
        with `torch.where`. For numbers, reduce with `.mean()` or `.sum()`, or use `.tolist()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.any.html
    """

    code = "GRD230"
    name = "truth-of-tensor"
    effect = "raises"
    raises = "Boolean value of Tensor with (more than one value|no values) is ambiguous"
    torch_says = (
        "cannot be converted to Scalar",
        "only one element tensors can be converted to Python scalars",
        "Boolean value of Tensor with (more than one value|no values) is ambiguous",
    )
    bad = """\
import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    if w.grad:  # GRD230
        w.grad.zero_()
    (2 * w).sum().backward()
"""
    good = """\
import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    if w.grad is not None:
        w.grad.zero_()
    (2 * w).sum().backward()
"""

    def check(self, event: TruthOfMany) -> Report | None:
        if event.number:
            return Report(
                event.node,
                "this makes a number of a tensor that does not have exactly one element: torch raises here",
                hint="reduce it, for example with `.mean()` or `.sum()`, or use `.tolist()`",
            )
        hint = "test `is not None`" if event.gradient else "reduce it: `.any()` or `.all()`"
        return Report(
            event.node,
            "this asks whether a tensor with more than one element is true: torch raises here",
            hint=hint,
        )
