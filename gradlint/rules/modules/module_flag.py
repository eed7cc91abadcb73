from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class ModuleFlag(EventRule[fault.ModuleFlag]):
    """An attribute that freezes nothing is set on a module, or under a wrong name on a tensor.

    What torch does
        A module has no attribute `requires_grad`: the assignment creates one that nothing reads, and
        the parameters do not change. The same applies to `require_grad` on a parameter.

    Why it matters
        Silently, layers that should be frozen are still trained, or layers that should be trained again stay frozen.

    When it may be wrong
        If code that gradlint does not see reads the attribute. A class that defines such an attribute is not reported.

    Instead
        Call `module.requires_grad_(False)`, which sets the flag of all parameters of the module.
        For one tensor, write `param.requires_grad = False`. The fix does this. It is unsafe,
        because it freezes layers that have been trained by mistake.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD610"
    name = "module-flag"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 2)
body.requires_grad = False  # GRD610
head(body(torch.ones(1, 4))).sum().backward()
"""
    bad_shows = "body.weight.grad is not None"
    good = """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 2)
body.requires_grad_(False)
head.bias.requires_grad = False
head(body(torch.ones(1, 4))).sum().backward()
"""
    good_shows = "body.weight.grad is None and head.bias.grad is None"

    def check(self, event: fault.ModuleFlag) -> Report | None:
        of_tensor = event.owner == "tensor"
        what = f"a {event.owner} has no attribute `{event.name}`"
        return Report(
            event.node,
            f"{what}: this creates one that nothing reads, and freezes nothing",
            hint="the attribute is called `requires_grad`" if of_tensor else "call `requires_grad_(False)`",
            repair=_called(event.node, of_tensor),
        )


def _called(node: cst.CSTNode, is_tensor: bool) -> Repair | None:
    """Call the method instead of the assignment, or correct the name of the attribute."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0].target
    if not isinstance(target, cst.Attribute):
        return None
    if is_tensor:
        return Repair("use `requires_grad`", (Change(target.attr, "requires_grad"),), safe=False)
    change = Change(node, f"{source(target.value)}.requires_grad_({source(node.value)})")
    return Repair("call `requires_grad_`", (change,), safe=False)
