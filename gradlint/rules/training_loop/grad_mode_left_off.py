from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class GradModeLeftOff(EventRule[fault.GraphSwitchedOff | fault.LeftFrozen]):
    """Grad mode, or `requires_grad` of a trained network, stays disabled in the next training iteration.

    What torch does
        `torch.set_grad_enabled(False)` as a statement is in effect until it is called with True: later computations
        record no graph, and the next backward raises a RuntimeError, "element 0 of tensors does not require grad".
        `requires_grad = False` on parameters also stays in effect. If something else in the loss requires grad, the
        backward runs, and the optimizer's step changes nothing.

    Why it matters
        The first iteration is correct, so the fault shows late, or only as a network that has stopped learning.

    When it may be wrong
        If code that gradlint does not see enables it again.

    Instead
        Use `with torch.set_grad_enabled(False):` or `with torch.no_grad():`, which end with their block. Unfreeze a
        network that was frozen for another network's step: `network.requires_grad_(True)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.set_grad_enabled.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
    """

    code = "GRD514"
    name = "grad-mode-left-off"
    effect = "silent"
    raises = "does not require grad"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
for epoch in range(3):
    for x in torch.randn(5, 8, 4):
        model(x).pow(2).mean().backward()  # raises
    torch.set_grad_enabled(False)  # GRD514
    print(model(torch.randn(8, 4)).mean())
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
for epoch in range(3):
    torch.set_grad_enabled(True)
    for x in torch.randn(5, 8, 4):
        model(x).pow(2).mean().backward()
    torch.set_grad_enabled(False)
    print(model(torch.randn(8, 4)).mean())
"""

    def check(self, event: fault.GraphSwitchedOff | fault.LeftFrozen) -> Report | None:
        """Report at the switch, which was on when the same thing was trained before."""
        if isinstance(event, fault.LeftFrozen):
            after, related = "changes nothing", (event.step, "this step finds no gradient any more")
        else:
            after, related = "raises", (event.backward, "the next backward finds no graph")
        return Report(
            event.node,
            f"gradients are switched off here and not switched on again: the next training iteration {after}",
            hint="switch them on before the next training iteration, or use a `with` block for the mode",
            related=(related,),
            effect="raises" if isinstance(event, fault.GraphSwitchedOff) else None,
        )
