"""GRD401: an operation without a gradient lies on the only way from a loss back to a leaf."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"
_KINDS = frozenset({"nondiff"})


class NondiffOnLossPath(Rule):
    """An operation without a gradient cuts a loss off from what it should train.

    What torch does
        The result of `argmax`, `argsort`, a comparison or `isnan` does not require grad. If nothing
        else connects the loss with a leaf, its backward raises a RuntimeError: "element 0 of tensors
        does not require grad and does not have a grad_fn". If something else does, backward runs, and
        the leaves behind the cut get no gradient (`.grad` stays None) without a word.

    Why it matters
        Such a function is a staircase: its slope is zero where it has one. The quantity that one wants
        to improve (accuracy, the number of errors) is no loss, and a term of it in the loss trains
        nothing.

    When it may be wrong
        Where the cut is wanted and another loss trains the parameters elsewhere. Metrics beside the
        loss, indices and masks that pick from tracked values are not reported, for the gradient flows
        through what they pick.

    Instead
        Put a smooth function in its place: the scores themselves with a cross entropy instead of
        `argmax`, a `sigmoid` or a hinge (`clamp(min=0)`) instead of a comparison. To keep the hard
        value forward and a gradient backward, use the straight-through trick `soft + (hard -
        soft).detach()`.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.cross_entropy.html
    """

    code = "GRD401"
    name = "nondiff-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
wrong = model(x).argmax(dim=1) != y  # GRD401
loss = wrong.float().mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

threshold = torch.tensor(0.5, requires_grad=True)
scale = torch.tensor(1.0, requires_grad=True)
x = torch.rand(16)
kept = (x > threshold).float()  # GRD401
loss = (kept * x * scale).sum()
loss.backward()
""",
            shows="grad_is_none(threshold) and scale.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
scores = model(x)
loss = F.cross_entropy(scores, y)
loss.backward()
accuracy = (scores.argmax(dim=1) == y).float().mean()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch

x = torch.randn(5, requires_grad=True)
positive = x[x > 0]
loss = positive.sum() + torch.where(x < -1, x, 0).sum()
loss.backward()
""",
            shows="x.grad is not None",
        ),
        Good(
            """\
import torch

x = torch.randn(5, requires_grad=True)
soft = torch.sigmoid(x)
hard = (soft > 0.5).float()
straight_through = soft + (hard - soft).detach()
straight_through.sum().backward()
""",
            shows="x.grad.any()",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A leaf that is lost behind an operation without a gradient; other cuts have rules of their own."""
        assert isinstance(event, LostLeaf)
        if event.kind not in _KINDS:
            return
        op = operation(event.op, event.node)
        way = "" if event.term else " and is the only way to the loss"
        hint = "put a smooth function in its place, or keep it out of the loss"
        yield report(event, f"{op} has no gradient{way}", hint)
