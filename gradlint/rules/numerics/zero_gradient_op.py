from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class ZeroGradientOp(EventRule[LostLeaf]):
    """The only path from a loss to a leaf contains an operation whose derivative is zero everywhere.

    What torch does
        `round`, `floor`, `ceil`, `trunc`, `sign` and a division with a rounding mode have a gradient, but it is zero
        everywhere: the graph is complete, backward runs, and `.grad` is filled with zeros.

    Why it matters
        Nothing raises, no `.grad` is None, the optimizer steps, and the parameters do not change.
        This happens in quantisation, counting and hard thresholds.

    When it may be wrong
        If another loss trains the parameters in code that gradlint does not see.

    Instead
        Round only in evaluation, use a smooth function (`tanh` for `sign`, `sigmoid` for a step), or
        use the straight-through estimator `x + (x.round() - x).detach()`, which rounds in forward and
        passes the gradient through.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.round.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
    """

    code = "GRD402"
    name = "zero-gradient-op"
    effect = "silent"
    bad = """\
import torch
from torch import nn

m = nn.Linear(2, 3)
codes = m(torch.randn(4, 2)).floor()  # GRD402
(codes - 1).pow(2).mean().backward()
"""
    bad_shows = "not m.weight.grad.any()"
    good = """\
import torch
from torch import nn

m = nn.Linear(2, 3)
raw = m(torch.randn(4, 2))
codes = raw + (raw.round() - raw).detach()
(codes - 1).pow(2).mean().backward()
"""
    good_shows = "m.weight.grad.any()"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "zero":
            return None
        what = f"the gradient of {operation(event.op, event.node)} is zero everywhere"
        return report(
            event, what, "round outside the loss, or pass the gradient through with `x + (x.round() - x).detach()`"
        )
