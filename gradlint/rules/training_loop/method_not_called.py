from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class MethodNotCalled(EventRule[fault.MethodNotCalled]):
    """A method of an optimizer, a module or a tensor is used as a statement but not called.

    What torch does
        Nothing: `optimizer.zero_grad` without parentheses is an expression whose value is discarded. Gradients are not
        cleared, no step is taken, no gradient is computed, or the mode does not change.

    Why it matters
        Python and torch are both silent. Without `zero_grad()`, every step uses the sum of all
        gradients so far, and the loss may still decrease.

    When it may be wrong
        If the name is a property of a class that gradlint does not see.

    Instead
        Add the parentheses: `optimizer.zero_grad()`. The fix is unsafe, because it changes what the program computes.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
    """

    code = "GRD515"
    name = "method-not-called"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
before = model.weight.detach().clone()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
model(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step  # GRD515
"""
    bad_shows = "torch.equal(model.weight, before)"
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
model(torch.randn(8, 4)).pow(2).mean().backward()
optimizer.step()
"""

    def check(self, event: fault.MethodNotCalled) -> Report | None:
        assert isinstance(event, fault.MethodNotCalled) and isinstance(event.node, cst.Attribute)
        text = source(event.node)
        return Report(
            event.node,
            f"`{text}` is not called: nothing happens here",
            hint=f"write `{text}()`",
            repair=Repair(f"call `{text}`", (Change(event.node, f"{text}()"),), safe=False),
        )
