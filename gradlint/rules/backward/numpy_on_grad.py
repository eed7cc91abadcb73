"""GRD210: a tensor that requires grad is handed to numpy."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event, Refused
from gradlint.rules.authoring.phrases import source
from gradlint.rules.authoring.repairs import receiver_through
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "Can't call numpy\\(\\) on Tensor that requires grad"


class NumpyOnGrad(Rule):
    """A tensor that requires grad is handed to numpy.

    What torch does
        It raises a RuntimeError: "Can't call numpy() on Tensor that requires grad. Use
        tensor.detach().numpy() instead." So do numpy's own functions on such a tensor, or on a list
        with one, since they ask for the array. Under `torch.no_grad()` it lets them pass.
        `numpy(force=True)` detaches and copies to the CPU by itself.

    Why it matters
        An array has no graph: torch wants you to say that the gradient may end here. If the array goes
        back into the loss, it must not.

    When it may be wrong
        Where the line is never reached. In a function that nothing in the file calls and that does not
        backpropagate, callers may have switched grad mode off: there it is a warning.

    Instead
        `t.detach().numpy()` for plots and metrics (`t.detach().cpu().numpy()` from a GPU);
        `loss.item()` for a list of losses that is only looked at. On the way to a loss use torch's own
        functions.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD210"
    name = "numpy-on-grad"
    effect = "raises"
    events = (Refused,)
    fix = "safe"
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
        Bad(
            """\
import numpy as np
import torch

w = torch.ones(3, requires_grad=True)
losses = [(w * x).sum() for x in (1, 2)]
print(np.mean(losses))  # GRD210
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
            f"{_call(event.node)} a tensor that requires grad: torch raises here"
            + (", unless the caller has switched grad mode off" if event.uncalled else ""),
            severity="warning" if event.uncalled else None,
            hint="write `.detach()` before it; on the way to a loss, use torch's own functions instead",
            related=event.related,
            repair=receiver_through(event.node, "detach", safe=True) if _is_numpy_method(event.node) else None,
        )


def _call(node: cst.CSTNode) -> str:
    """Whether the method is called, or a function of numpy."""
    if isinstance(node, cst.Call) and not _is_numpy_method(node):
        return f"`{source(node.func)}` is given"
    return "`numpy()` is called on"


def _is_numpy_method(node: cst.CSTNode) -> bool:
    """Whether a call is one of `x.numpy()`, rather than of a function of numpy, which may hold a list of tensors."""
    function = node.func if isinstance(node, cst.Call) else None
    return isinstance(function, cst.Attribute) and function.attr.value == "numpy"
