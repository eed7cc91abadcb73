from __future__ import annotations

from gradlint.domain.refusal import modules as refusal
from gradlint.rules.base import EventRule, Report


class ParameterOverwritten(EventRule[refusal.ParameterOverwritten | refusal.ChildOverwritten]):
    """A plain tensor is assigned where a module has registered a parameter.

    What torch does
        It raises a TypeError: "cannot assign 'torch.FloatTensor' as parameter 'weight'
        (torch.nn.Parameter or None expected)".

    Why it matters
        `layer.weight = layer.weight * mask` would remove the parameter from `parameters()`, while
        the optimizer would still update the old one.

    When it may be wrong
        If the line is never executed.

    Instead
        Change the values of the parameter (`with torch.no_grad(): layer.weight.mul_(mask)`), use the computed tensor
        under another name (`F.linear(x, layer.weight * mask)`), or use `torch.nn.utils.parametrize`.
        `nn.Parameter(...)` creates a new parameter, which the optimizer does not update.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
    """

    code = "GRD217"
    name = "parameter-overwritten"
    effect = "raises"
    raises = "cannot assign 'torch.FloatTensor' as parameter"
    torch_says = (r"cannot assign '[\w.]+' as parameter",)
    bad = """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
layer.weight = torch.zeros(2, 3)  # GRD217
"""
    good = """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
with torch.no_grad():
    layer.weight.zero_()
"""

    def check(self, event: refusal.ParameterOverwritten | refusal.ChildOverwritten) -> Report | None:
        if isinstance(event, refusal.ChildOverwritten):
            return Report(
                event.node,
                f"a value that is not a module is assigned to the child module `{event.name}`: torch raises here",
                hint="assign a module, or use another attribute name for the value",
            )
        return Report(
            event.node,
            f"a plain tensor is assigned to the parameter `{event.name}`: torch raises here",
            hint="write its values under `torch.no_grad()`, or use another attribute name for the tensor",
            related=((event.made, "the parameter is created here"),),
        )
