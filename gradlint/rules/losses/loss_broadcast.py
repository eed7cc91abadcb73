from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import losses as fault
from gradlint.domain.shape import Dim
from gradlint.rules.authoring.repairs import operand
from gradlint.rules.base import Change, EventRule, Repair, Report


class LossBroadcast(EventRule[fault.CrossedShapes]):
    """A loss compares predictions of shape (N, 1) with targets of shape (N,), which broadcast.

    What torch does
        It broadcasts both to (N, N), so that every prediction is compared with every target. `mse_loss`, `l1_loss`,
        `smooth_l1_loss` and `huber_loss` emit a UserWarning, plain arithmetic does not; `binary_cross_entropy` raises.

    Why it matters
        The minimum of such a loss is to predict the mean of all targets for every input. The loss
        falls for a while and then stagnates.

    When it may be wrong
        If all pairs should be compared. Arithmetic with `unsqueeze` or `[:, None]` on either side is not reported.
        Where a size is not known it is taken to be more than one, and the finding is a warning.

    Instead
        Give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`.

    References
        https://docs.pytorch.org/docs/stable/notes/broadcasting.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
    """

    code = "GRD702"
    name = "loss-broadcast"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8)
loss = F.mse_loss(model(x), y)  # GRD702
loss.backward()
"""
    bad_shows = "not torch.isclose(loss, F.mse_loss(model(x).squeeze(1), y))"
    good = """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8)
loss = F.mse_loss(model(x).squeeze(1), y) + F.l1_loss(model(x), y.unsqueeze(1))
loss.backward()
"""

    def check(self, event: fault.CrossedShapes) -> Report | None:
        return Report(
            event.met,
            f"{_shape(event.one)} and {_shape(event.other)} broadcast to all pairs: "
            "the loss compares every prediction with every target",
            hint="give both the same shape: `prediction.squeeze(1)`, or `target.unsqueeze(1)`",
            related=((None if event.met is event.node else event.node, "the loss"),),
            repair=_squeezed(event),
        )


def _squeezed(event: fault.CrossedShapes) -> Repair | None:
    """Squeeze the dimension of size one."""
    met = event.met
    sides: tuple[cst.BaseExpression, ...] = ()
    if isinstance(met, cst.BinaryOperation):
        sides = (met.left, met.right)
    elif isinstance(met, cst.Call) and len(met.args) == 2 and not any(arg.keyword or arg.star for arg in met.args):
        sides = (met.args[0].value, met.args[1].value)
    for side, shape in zip(sides, (event.one, event.other), strict=False):
        if len(shape) == 2 and shape[1] == 1:
            text = f"{operand(side)}.squeeze(1)"
            return Repair("give both the same shape: `.squeeze(1)`", (Change(side, text),), safe=False)
    return None


def _shape(shape: tuple[Dim, ...]) -> str:
    """Format a shape, with N for unknown sizes."""
    sizes = [str(size) if isinstance(size, int) else "N" for size in shape]
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
