from __future__ import annotations

from gradlint.domain.refusal.backward import NoneGradientUsed
from gradlint.rules.authoring.leaves import updated_in_place
from gradlint.rules.base import EventRule, Report


class LeafReassigned(EventRule[NoneGradientUsed]):
    """A leaf's name is rebound to a computed tensor, whose `.grad` is None.

    What torch does
        `w = w - lr * w.grad` computes a new tensor, which is not a leaf: no gradient is accumulated into it. Reading
        its `.grad` gives None and a warning, and the next iteration of the loop raises a TypeError ("unsupported
        operand type(s) for *: 'float' and 'NoneType'") or, at `w.grad.zero_()`, an AttributeError.

    Why it matters
        This is a common way to avoid the error "a leaf Variable that requires grad is being used in an in-place
        operation". The old leaf is not updated, and every iteration's graph stays connected to the previous ones.

    When it may be wrong
        If code that gradlint does not see assigns a gradient to the tensor.

    Instead
        Update the leaf itself: `with torch.no_grad(): w -= lr * w.grad`, then `w.grad = None`. Or
        create a new leaf: `w = (w - lr * w.grad).detach().requires_grad_()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "GRD111"
    name = "leaf-reassigned"
    effect = "raises"
    raises = "unsupported operand type.*NoneType|NoneType' object"
    fix = "unsafe"
    torch_says = ("unsupported operand type.*NoneType", "NoneType' object", "not NoneType", "got .*NoneType")
    bad = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w = w - 0.1 * w.grad  # GRD111, GRD206
"""
    good = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
"""
    good_shows = "w.is_leaf and w.any()"

    def check(self, event: NoneGradientUsed) -> Report | None:
        return Report(
            event.node,
            "this uses a `.grad` that is None here: no backward has filled it, and Python raises here",
            hint="update the leaf under `torch.no_grad()`, or make a new leaf: `.detach().requires_grad_()`",
            related=((event.made, "the tensor whose `.grad` is None is created here"),),
            repair=None if event.made is None else updated_in_place(event.made),
        )
