from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import spelling as fault
from gradlint.rules.authoring.arguments import keyword_of, without
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Below, Change, EventRule, Remove, Repair, Report


class Volatile(EventRule[fault.VolatileGiven]):
    """`volatile=True` is set, but has no effect since torch 0.4: the graph is recorded.

    What torch does
        It emits a UserWarning, "volatile was removed and now has no effect", and records everything that a model
        computes from the tensor. Setting `x.volatile = True` does nothing either, and `x.volatile` is always False.

    Why it matters
        The evaluation was meant to run without a graph, but it records one and keeps every activation in memory.

    When it may be wrong
        If the code has to run under torch 0.3.

    Instead
        Run the evaluation under `with torch.no_grad():`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://pytorch.org/blog/pytorch-0_4_0-migration-guide/
    """

    code = "GRD803"
    name = "volatile"
    effect = "leak"
    fix = "safe or unsafe"
    bad = """\
import torch
from torch import nn
from torch.autograd import Variable

model = nn.Linear(3, 1)
x = Variable(torch.randn(8, 3), volatile=True)  # GRD803
prediction = model(x)
"""
    bad_shows = "prediction.requires_grad"
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
with torch.no_grad():
    prediction = model(torch.randn(8, 3))
"""
    good_shows = "not prediction.requires_grad"

    def check(self, event: fault.VolatileGiven) -> Report | None:
        return Report(
            event.written or event.node,
            f"`volatile` has had no effect since torch 0.4: {_NOW[event.recorded]}",
            severity=None if event.recorded else "info",
            hint="run the evaluation under `with torch.no_grad():`" if event.recorded else "remove it",
            repair=_repair(event.node, event.recorded) if event.written is None else None,
        )


_NOW = {True: "the graph is recorded", False: "grad mode is off here anyway"}


def _repair(node: cst.CSTNode, recorded: bool) -> Repair | None:
    """Put all uses of the assigned tensor under no_grad; if nothing is recorded, only remove `volatile`."""
    if isinstance(node, cst.Call):
        flag = keyword_of(node, "volatile")
        if flag is None or code(flag.value) != "True":
            return None
        plain = code(without(node, flag))
        gone: Change | Remove = Change(node, plain)
    else:
        gone = Remove(node)
    if not recorded:
        return Repair("remove `volatile`", (gone,))
    message = "use it under `torch.no_grad()`"
    return Repair(message, (gone, Below(node, "with torch.no_grad():")), safe=False, imports=("torch",))
