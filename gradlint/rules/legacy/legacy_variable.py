"""GRD802: `Variable`, which is a tensor since torch 0.4."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import spelling as fault
from gradlint.facts.traits import FACTORIES
from gradlint.rules.authoring.arguments import extended, keyword_of
from gradlint.rules.authoring.repairs import code, operand
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class LegacyVariable(Rule):
    """`Variable(x)` is written where a tensor would do.

    What torch does
        Tensors and Variables have been one since torch 0.4: `Variable(x)` gives a tensor over the same
        memory, out of the graph of `x`, and `isinstance(x, Variable)` is true for every tensor. With
        `requires_grad=True` it gives a leaf.

    Why it matters
        It does nothing to data. To what has a graph it does harm, since it cuts: that is reported as
        rewrapped-tensor, where a loss suffers from it.

    When it may be wrong
        Code that has to run under torch 0.3.

    Instead
        `x`; for a leaf `x.requires_grad_()`, or `requires_grad=True` where the tensor is made.

    References
        https://docs.pytorch.org/docs/stable/autograd.html#variable-deprecated
    """

    code = "GRD802"
    name = "legacy-variable"
    effect = "legacy"
    events = (fault.LegacyVariable,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch
from torch import nn
from torch.autograd import Variable

model = nn.Linear(3, 1)
x = Variable(torch.randn(8, 3))  # GRD802
model(x).sum().backward()
""",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(3, 1)
model(torch.randn(8, 3)).sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A call over data; what has a graph belongs to another rule."""
        assert isinstance(event, fault.LegacyVariable)
        if event.live is True:
            return
        leaf = event.requires_grad is not False
        yield Report(
            event.node,
            "a `Variable` is a tensor since torch 0.4",
            hint="set `requires_grad` on the tensor itself" if leaf else "use the tensor itself",
            repair=_repair(event),
        )


def _repair(event: fault.LegacyVariable) -> Repair | None:
    """The tensor in place of the call; a leaf is made of a tensor that shares the memory, as `Variable` makes it."""
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
    """What is new, and known to nobody else, is made a leaf at once."""
    if isinstance(data, cst.Call) and code(data.func) in _MAKERS and keyword_of(data, "requires_grad") is None:
        new = extended(data, "requires_grad", "True")
        return None if new is None else code(new)
    return f"{operand(data)}.requires_grad_()" if isinstance(data, cst.BinaryOperation) else None
