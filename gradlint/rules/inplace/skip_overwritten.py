from __future__ import annotations

from gradlint.domain.fault import inplace as fault
from gradlint.rules.base import EventRule, Report


class SkipOverwritten(EventRule[fault.SkipOverwritten]):
    """A block begins with an activation in place, and a skip connection adds its input, which is not what it was.

    What torch does
        `nn.ReLU(inplace=True)` as the first layer of a block writes to the tensor that the block is given. `x` in
        `x + block(x)` is then the activated tensor.

    Why it matters
        The network is another one than it looks to be: the skip connection is no identity, as it drops what is below
        zero. Torch raises only if something has saved the values.

    When it may be wrong
        If the network is to be as one that was trained so. An input that is never negative is not reported.

    Instead
        Write `nn.ReLU()` for the first activation of the block. Those after another layer of the block may stay.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
    """

    code = "GRD114"
    name = "skip-overwritten"
    effect = "fragile"
    bad = """\
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 4))
        nn.init.zeros_(self.body[1].weight)
        nn.init.zeros_(self.body[1].bias)

    def forward(self, x):
        return x + self.body(x)  # GRD114


x = nn.Linear(4, 4)(torch.randn(64, 4))
before = x.detach().clone()
out = Residual()(x)
"""
    bad_shows = "torch.equal(out, before.relu()) and not torch.equal(out, before)"
    good = """\
import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
        nn.init.zeros_(self.body[1].weight)
        nn.init.zeros_(self.body[1].bias)

    def forward(self, x):
        return x + self.body(x)


x = nn.Linear(4, 4)(torch.randn(64, 4))
before = x.detach().clone()
out = Residual()(x)
"""
    good_shows = "torch.equal(out, before)"

    def check(self, event: fault.SkipOverwritten) -> Report | None:
        return Report(
            event.node,
            f"the block has changed its input, which is used here: its first layer, `{event.op}`, works in place",
            hint="create the first activation of the block without `inplace=True`",
            related=((event.block, "this call writes to its input"),),
        )
