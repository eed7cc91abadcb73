"""GRD611: `F.dropout` in a module is not told whether the module is in training."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import Bad, Good, Report, Rule


class FunctionalDropoutAlwaysOn(Rule):
    """`F.dropout` in a module is not told whether the module is in training.

    What torch does
        `torch.nn.functional.dropout` has `training=True` for a default. A function knows nothing of
        `model.eval()`: it drops in evaluation as it does in training.

    Why it matters
        Predictions are noisy and differ from call to call, and scores are worse than the model is.

    When it may be wrong
        Where dropout in evaluation is wanted, to measure uncertainty; then write `training=True`, which
        is not reported. A method that tests `self.training` itself is not reported either.

    Instead
        `F.dropout(x, p, training=self.training)`, or an `nn.Dropout` made in `__init__`. The fix adds
        the argument; the values in evaluation change, so it is not a safe one.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
    """

    code = "GRD611"
    name = "functional-dropout-always-on"
    effect = "fragile"
    events = (fault.DropoutAlwaysOn,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x)  # GRD611


out = Net().eval()(torch.ones(256))
""",
            shows="bool((out == 0).any())",
        ),
    )
    good = (
        Good(
            """\
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x):
        x = F.dropout(x, 0.5, training=self.training)
        x = F.dropout(x, 0.1, self.training)
        return self.dropout(x)


out = Net().eval()(torch.ones(256))
""",
            shows="bool((out == 1).all())",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the call."""
        assert isinstance(event, fault.DropoutAlwaysOn)
        yield Report(
            event.node,
            "`dropout` drops in evaluation as well: nothing tells it of `model.eval()`",
            hint="pass `training=self.training`",
            repair=with_argument(event.node, "training=self.training", safe=False),
        )
