from __future__ import annotations

from gradlint.domain.refusal import optimizers as refusal
from gradlint.rules.authoring.leaves import leaf_at_once
from gradlint.rules.base import EventRule, Report


class NonleafOptimizer(EventRule[refusal.NonleafInOptimizer]):
    """An optimizer is given a tensor that is not a leaf.

    What torch does
        It raises a ValueError: "can't optimize a non-leaf Tensor". A computed tensor has no `.grad`, and the next
        forward computes it again. A tensor on which `retain_grad()` was called is accepted.

    Why it matters
        `torch.randn(3, requires_grad=True).to(device)`, `0.1 * torch.randn(3, requires_grad=True)` and
        `nn.Parameter(...).view(...)` are computed tensors, although they are computed from a leaf.

    When it may be wrong
        If `.to()` or `.cuda()` had nothing to do and returned the leaf itself.

    Instead
        Create the leaf last: `(0.1 * torch.randn(3, device=device)).requires_grad_()`, or wrap the
        value: `nn.Parameter(value)`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "GRD601"
    name = "nonleaf-optimizer"
    effect = "raises"
    raises = "can't optimize a non-leaf Tensor"
    fix = "safe"
    bad = """\
import torch

w = 0.1 * torch.randn(3, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)  # GRD601
"""
    good = """\
import torch

w = (0.1 * torch.randn(3)).requires_grad_()
optimizer = torch.optim.SGD([w], lr=0.1)
"""
    good_shows = "w.is_leaf"

    def check(self, event: refusal.NonleafInOptimizer) -> Report | None:
        return Report(
            event.node,
            "this optimizer is given a tensor that is not a leaf: torch raises here",
            hint="make the leaf last: `value.detach().requires_grad_()`, or `nn.Parameter(value)`",
            related=((event.made, "this operation makes it no leaf"),),
            repair=None if event.made is None else leaf_at_once(event.made, safe=True),
        )
