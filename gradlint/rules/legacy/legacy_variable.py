from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import spelling as fault
from gradlint.facts.traits import FACTORIES
from gradlint.rules.authoring.arguments import extended, keyword_of
from gradlint.rules.authoring.repairs import code, operand
from gradlint.rules.base import Change, EventRule, Repair, Report


class LegacyVariable(EventRule[fault.LegacyVariable]):
    """`Variable` is used, which has been the same as a tensor since torch 0.4.

    What torch does
        Tensors and Variables were merged in torch 0.4: `Variable(x)` returns a tensor that shares the
        memory of `x` but is detached from its graph, and `isinstance(x, Variable)` is true for every
        tensor. With `requires_grad=True` the result is a leaf.

    Why it matters
        For data, the call has no effect. For a tensor with a graph, it cuts the graph:
        rewrapped-tensor (GRD303) reports this if a loss depends on it.

    When it may be wrong
        If the code has to run under torch 0.3.

    Instead
        Use the tensor itself. For a leaf, write `x.requires_grad_()`, or pass `requires_grad=True`
        where the tensor is created.

    References
        https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    """

    code = "GRD802"
    name = "legacy-variable"
    effect = "legacy"
    fix = "safe"
    bad = """\
import torch
from torch import nn
from torch.autograd import Variable

model = nn.Linear(3, 1)
x = Variable(torch.randn(8, 3))  # GRD802
model(x).sum().backward()
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
model(torch.randn(8, 3)).sum().backward()
"""

    def check(self, event: fault.LegacyVariable) -> Report | None:
        """Report a call on data; another rule reports a tensor with a graph."""
        if event.live is True:
            return None
        leaf = event.requires_grad is not False
        return Report(
            event.node,
            "`Variable` has been the same as a tensor since torch 0.4",
            hint="set `requires_grad` on the tensor itself" if leaf else "use the tensor itself",
            repair=_repair(event),
        )


def _repair(event: fault.LegacyVariable) -> Repair | None:
    """Replace the call by the tensor, or by a leaf that shares its memory, as the result of `Variable` does."""
    call = event.node
    if not isinstance(call, cst.Call) or not call.args or call.args[0].keyword is not None or call.args[0].star:
        return None
    data = call.args[0].value
    if len(call.args) == 1:
        return Repair("use the tensor itself", (Change(call, code(data)),), event.live is False)
    keyword = call.args[1].keyword
    flagged = len(call.args) == 2 and keyword is not None and keyword.value == "requires_grad"
    if flagged and event.requires_grad is False and event.live is False:
        return Repair("use the tensor itself", (Change(call, code(data)),))
    if flagged and event.requires_grad is True:
        text = _flagged(data) or f"{operand(data)}.detach().requires_grad_()"
        return Repair("make the tensor a leaf", (Change(call, text),), event.live is False)
    return None


_MAKERS = {f"torch.{name}" for name in FACTORIES | {"tensor"}}


def _flagged(data: cst.BaseExpression) -> str | None:
    """Make a new tensor, to which nothing else refers, a leaf directly."""
    if isinstance(data, cst.Call) and code(data.func) in _MAKERS and keyword_of(data, "requires_grad") is None:
        new = extended(data, "requires_grad", "True")
        return None if new is None else code(new)
    return f"{operand(data)}.requires_grad_()" if isinstance(data, cst.BinaryOperation) else None
