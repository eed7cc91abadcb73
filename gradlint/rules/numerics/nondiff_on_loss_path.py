from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report

_KINDS = frozenset({"nondiff"})


class NondiffOnLossPath(EventRule[LostLeaf]):
    """An operation without a gradient cuts the only path from a loss to a leaf.

    What torch does
        The result of `argmax`, `argsort`, a comparison or `isnan` does not require grad. If nothing
        else connects the loss with a leaf, its backward raises a RuntimeError: "element 0 of tensors
        does not require grad and does not have a grad_fn". If something else does, backward runs, and
        the leaves before the cut silently get no gradient (`.grad` stays None).

    Why it matters
        Such a function is piecewise constant: its derivative is zero wherever it exists. A quantity to
        be improved, such as accuracy or the number of errors, therefore cannot be used as a loss, and
        as a term of the loss it has no effect on training.

    When it may be wrong
        If the cut is intentional and another loss trains the parameters. Metrics that are not part
        of the loss are not reported. Neither are indices and masks that select from tracked values,
        because the gradient flows through the selected values.

    Instead
        Use a smooth function instead: the cross entropy of the scores instead of `argmax`, a `sigmoid` or a hinge
        (`clamp(min=0)`) instead of a comparison. To use the hard value in forward and a gradient in backward, use the
        straight-through estimator `soft + (hard - soft).detach()`.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
    """

    code = "GRD401"
    name = "nondiff-on-loss-path"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
wrong = model(x).argmax(dim=1) != y  # GRD401
loss = wrong.float().mean()
loss.backward()  # raises
"""
    good = """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
scores = model(x)
loss = F.cross_entropy(scores, y)
loss.backward()
accuracy = (scores.argmax(dim=1) == y).float().mean()
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        """Report an operation without a gradient on the only path to a leaf; other rules report other cuts."""
        if event.kind not in _KINDS:
            return None
        op = operation(event.op, event.node)
        way = "" if event.term else " and is the only path to the loss"
        hint = "use a smooth function instead, or do not use it in the loss"
        return report(event, f"{op} has no gradient{way}", hint)
