from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class DataIncompatible(EventRule[refusal.DataIncompatible]):
    """Integers are assigned to `.data` of a tensor that requires grad.

    What torch does
        It raises a RuntimeError: "data set to a tensor that requires gradients must be floating point or complex
        dtype". A different floating-point dtype or shape is accepted, and becomes the tensor's own.

    Why it matters
        `w.data = torch.tensor([1, 2])` assigns integers because the decimal points are missing. `.data
        =` checks little else, so most other mistakes are silent.

    When it may be wrong
        If the line is never executed.

    Instead
        Write `with torch.no_grad(): w.copy_(values)`, which converts the values and checks the shape.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "GRD222"
    name = "data-incompatible"
    effect = "raises"
    raises = "data set to a tensor that requires gradients must be floating point or complex dtype"
    torch_says = ("incompatible tensor type", "data set to a tensor that requires gradients", "Variable data has to be")
    bad = """\
import torch

w = torch.zeros(2, requires_grad=True)
w.data = torch.tensor([1, 2])  # GRD222
"""
    good = """\
import torch

w = torch.zeros(2, requires_grad=True)
with torch.no_grad():
    w.copy_(torch.tensor([1, 2]))
"""
    good_shows = "w.tolist() == [1.0, 2.0]"

    def check(self, event: refusal.DataIncompatible) -> Report | None:
        return Report(
            event.node,
            "integers are assigned to `.data` of a tensor that requires grad: torch raises here",
            hint="write `with torch.no_grad(): w.copy_(values)`, which converts them",
        )
