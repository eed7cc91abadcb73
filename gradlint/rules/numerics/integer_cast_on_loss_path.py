from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class IntegerCastOnLossPath(EventRule[LostLeaf]):
    """A cast to integers or booleans cuts the only path from a loss to a leaf.

    What torch does
        Only floating-point and complex tensors have gradients. `long()`, `int()`, `bool()`, `byte()` and
        `to(torch.int64)` return a tensor that does not require grad. If nothing else connects the loss with a leaf, its
        backward raises a RuntimeError: "element 0 of tensors does not require grad and does not have a grad_fn". If
        something else does, the leaves before the cast silently get no gradient.

    Why it matters
        Casting back with `float()` restores the dtype but not the graph.

    When it may be wrong
        Integers that only select from tracked values are not reported, because the gradient flows
        through the selected values.

    Instead
        Keep floating-point values up to the loss. To round, use the straight-through estimator `x +
        (x.round() - x).detach()`.

    References
        https://docs.pytorch.org/docs/stable/tensor_attributes.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD403"
    name = "integer-cast-on-loss-path"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    torch_says = ("does not require grad", raises)
    bad = """\
import torch

x = torch.rand(4, requires_grad=True)
pixels = (x * 255).int()  # GRD403
loss = (pixels / 255).pow(2).sum()
loss.backward()  # raises
"""
    good = """\
import torch

x = torch.rand(4, requires_grad=True)
pixels = x * 255
loss = (pixels / 255).pow(2).sum()
loss.backward()
print(pixels.int())
"""
    good_shows = "x.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "integer":
            return None
        cast = operation(event.op, event.node)
        return report(
            event, f"{cast} returns integers, which have no gradient", "keep floating-point values up to the loss"
        )
