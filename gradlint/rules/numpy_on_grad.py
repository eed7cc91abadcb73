"""GRD210: `numpy()` is called on a tensor that requires grad."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Refused
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "Can't call numpy\\(\\) on Tensor that requires grad"


class NumpyOnGrad(Rule):
    """`numpy()` is called on a tensor that requires grad.

    What torch does
        It raises a RuntimeError: "Can't call numpy() on Tensor that requires grad. Use
        tensor.detach().numpy() instead." So it does under `torch.no_grad()` for a tensor whose flag is
        set. `numpy(force=True)` detaches and copies to the CPU by itself.

    Why it matters
        An array has no graph: torch wants you to say that the gradient may end here. If the array goes
        back into the loss, it must not.

    When it may be wrong
        Where the line is never reached.

    Instead
        `t.detach().numpy()` for plots and metrics (`t.detach().cpu().numpy()` from a GPU). On the way
        to a loss use torch's own functions.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD210"
    name = "numpy-on-grad"
    effect = "raises"
    events = (Refused,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 2)
scores = model(torch.randn(3, 4)).numpy()  # GRD210
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
print(w.numpy().mean())  # GRD210
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 2)
scores = model(torch.randn(3, 4)).detach().numpy()
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 2)
with torch.no_grad():
    scores = model(torch.randn(3, 4)).numpy()
""",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
print(w.numpy(force=True).mean())
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A conversion that torch refuses."""
        if not isinstance(event, Refused) or event.fault != "numpy-on-grad":
            return
        yield Report(
            event.node,
            "`numpy()` is called on a tensor that requires grad: torch raises here",
            hint="write `.detach().numpy()`; on the way to a loss, use torch's own functions instead",
            related=event.related,
        )
