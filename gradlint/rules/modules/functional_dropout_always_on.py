from __future__ import annotations

from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Report


class FunctionalDropoutAlwaysOn(EventRule[fault.DropoutAlwaysOn]):
    """A method of a module calls `F.dropout` without `training=self.training`, or makes a dropout layer and calls it.

    What torch does
        `torch.nn.functional.dropout` has the default `training=True`. `model.eval()` does not
        affect a function, so dropout also happens in evaluation. Nor does it affect a layer that `forward`
        makes: it is new, and in training mode.

    Why it matters
        Predictions are noisy and differ from call to call, and evaluation scores are too low.

    When it may be wrong
        If dropout in evaluation is intentional, to measure uncertainty. Then write `training=True`,
        which is not reported. A method that tests `self.training` itself is not reported either.

    Instead
        Write `F.dropout(x, p, training=self.training)`, or create an `nn.Dropout` in `__init__`. The
        fix adds the argument. It is unsafe, because the values in evaluation change.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.dropout.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Dropout.html
    """

    code = "GRD611"
    name = "functional-dropout-always-on"
    effect = "fragile"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return nn.functional.dropout(x)  # GRD611


out = Net().eval()(torch.ones(256))
"""
    bad_shows = "bool((out == 0).any())"
    good = """\
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
"""
    good_shows = "bool((out == 1).all())"

    def check(self, event: fault.DropoutAlwaysOn) -> Report | None:
        return Report(
            event.node,
            "`dropout` is also active in evaluation: `model.eval()` does not affect this call",
            hint="create the layer in `__init__`" if event.made else "pass `training=self.training`",
            repair=None if event.made else with_argument(event.node, "training=self.training", safe=False),
        )
