from __future__ import annotations

from gradlint.domain.refusal import modules as refusal
from gradlint.rules.base import EventRule, Report


class UninitializedParameter(EventRule[refusal.UninitializedUsed]):
    """A parameter of a lazy module is used before the module has been called once.

    What torch does
        It raises a ValueError: "Attempted to use an uninitialized parameter", or a RuntimeError: "Can't access the
        shape of an uninitialized parameter".

    Why it matters
        `nn.LazyLinear` and its like learn the sizes of their parameters from the first input. To count, freeze or
        initialize them before that is not possible; to pass them to most optimizers is.

    When it may be wrong
        If the line is never executed.

    Instead
        Call the module once with an input of the right size, under `torch.no_grad()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.modules.lazy.LazyModuleMixin.html
    """

    code = "GRD641"
    name = "uninitialized-parameter"
    effect = "raises"
    raises = "uninitialized parameter"
    torch_says = ("uninitialized parameter",)
    bad = """\
import torch
from torch import nn

layer = nn.LazyLinear(3)
count = sum(p.numel() for p in layer.parameters())  # GRD641
"""
    good = """\
import torch
from torch import nn

layer = nn.LazyLinear(3)
with torch.no_grad():
    layer(torch.zeros(1, 4))
count = sum(p.numel() for p in layer.parameters())
"""
    good_shows = "count == 15"

    def check(self, event: refusal.UninitializedUsed) -> Report | None:
        return Report(
            event.node,
            f"`{event.op}` uses a parameter of a lazy module that has not been called yet: torch raises here",
            hint="call the module once with an input of the right size before",
            related=((event.made, "the lazy module is created here"),),
        )
