"""GRD610: a flag is set on a module, or on a tensor by a wrong name, and freezes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class ModuleFlag(Rule):
    """A flag is set on a module, or on a tensor by a wrong name, and freezes nothing.

    What torch does
        A module has no flag `requires_grad`: the assignment makes an attribute that nothing reads, and
        its parameters stay as they are. So does `require_grad` on a parameter.

    Why it matters
        The layers that should be frozen are trained on, or those that should be trained again stay
        frozen, without a word.

    When it may be wrong
        Where code that gradlint does not see reads the attribute. A class that has such an attribute
        of its own is not reported.

    Instead
        `module.requires_grad_(False)`, which reaches all parameters of the module; for one tensor
        `param.requires_grad = False`. The fix does this. It is not a safe one: what has been trained by
        mistake is frozen by it.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD610"
    name = "module-flag"
    effect = "silent"
    events = (fault.ModuleFlag,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 2)
body.requires_grad = False  # GRD610
head(body(torch.ones(1, 4))).sum().backward()
""",
            shows="body.weight.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

body, head = nn.Linear(4, 4), nn.Linear(4, 2)
body.requires_grad_(False)
head.bias.requires_grad = False
head(body(torch.ones(1, 4))).sum().backward()
""",
            shows="body.weight.grad is None and head.bias.grad is None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the assignment."""
        assert isinstance(event, fault.ModuleFlag)
        of_tensor = event.owner == "tensor"
        what = f"`{event.name}` is no flag of a {event.owner}"
        yield Report(
            event.node,
            f"{what}: this sets an attribute that nothing reads, and freezes nothing",
            hint="the flag is called `requires_grad`" if of_tensor else "call `requires_grad_(False)`",
            repair=_called(event.node, of_tensor),
        )


def _called(node: cst.CSTNode, is_tensor: bool) -> Repair | None:
    """The method in place of the assignment, or the flag's right name."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    target = node.targets[0].target
    if not isinstance(target, cst.Attribute):
        return None
    if is_tensor:
        return Repair("Use `requires_grad`", (Change(target.attr, "requires_grad"),), safe=False)
    change = Change(node, f"{source(target.value)}.requires_grad_({source(node.value)})")
    return Repair("Call `requires_grad_`", (change,), safe=False)
