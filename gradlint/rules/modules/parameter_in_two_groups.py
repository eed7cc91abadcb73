from __future__ import annotations

from gradlint.domain.refusal import optimizers as refusal
from gradlint.rules.base import EventRule, Remove, Repair, Report


class ParameterInTwoGroups(EventRule[refusal.ParameterInTwoGroups]):
    """An optimizer is given the same parameter in two of its groups.

    What torch does
        It raises a ValueError: "some parameters appear in more than one parameter group", when the optimizer is
        created, or when `add_param_group` is called. A parameter that is twice in the same group only causes a warning.

    Why it matters
        A part of a network with its own learning rate must be excluded from the other group. A layer that is unfrozen
        may already be in the optimizer: an optimizer also accepts parameters that do not require grad.

    When it may be wrong
        If gradlint takes two parameters for one. It therefore reports nothing inside a loop.

    Instead
        Exclude the part from the other group: `[p for n, p in model.named_parameters() if "head" not in n]`. To
        unfreeze a layer whose parameters are already in the optimizer, only set `requires_grad`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
    """

    code = "GRD613"
    name = "parameter-in-two-groups"
    effect = "raises"
    raises = "some parameters appear in more than one parameter group"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
optimizer = torch.optim.SGD(  # GRD613
    [{"params": model.parameters()}, {"params": model[1].parameters(), "lr": 0.01}], lr=0.1
)
"""
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
optimizer = torch.optim.SGD(
    [{"params": model[0].parameters()}, {"params": model[1].parameters(), "lr": 0.01}], lr=0.1
)
"""

    def check(self, event: refusal.ParameterInTwoGroups) -> Report | None:
        return Report(
            event.node,
            "a parameter is in two groups of this optimizer: torch raises here",
            hint="leave it out of one of them",
            related=((event.made, "the parameter is made here"),),
            repair=_repair(event),
        )


def _repair(event: refusal.ParameterInTwoGroups) -> Repair | None:
    """Do not add a group whose parameters are all in the optimizer already; its options are lost."""
    if not event.whole:
        return None
    return Repair("remove the group", (Remove(event.node),), safe=False)
