from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import modules as fault
from gradlint.domain.refusal.modules import NoParameterRegistered
from gradlint.rules.authoring.phrases import source
from gradlint.rules.authoring.repairs import bracketed
from gradlint.rules.base import Change, EventRule, Repair, Report


class ParameterMoved(EventRule[fault.ParameterMoved | NoParameterRegistered]):
    """The result of an operation on a parameter is assigned to a module, and is not registered.

    What torch does
        `nn.Parameter(t).to(device)`, `.cuda()`, `.double()` or `* 0.1` returns a plain tensor with a graph. If it is
        assigned to a module, the module does not register it, and the leaf from which it was computed, which gets the
        gradient, is not reachable. `.to` returns the parameter itself only if it is already on that device.

    Why it matters
        The value is never trained or saved. The graph from the leaf is built only once, so a second
        backward through it may raise. `register_parameter` raises a TypeError for it.

    When it may be wrong
        If the parameter is already on the device of `.to(device)`.

    Instead
        Convert the tensor before you wrap it: `nn.Parameter(t.to(device))`. The fix does this. A
        module's `to()` also moves its parameters.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    code = "GRD605"
    name = "parameter-moved"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3)).double()  # GRD605

    def forward(self, x):
        return self.gain * x


model = Scale()
model(torch.ones(3)).sum().backward()
"""
    bad_shows = "not list(model.parameters()) and not model.gain.is_leaf"
    good = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3).double())

    def forward(self, x):
        return self.gain * x


model = Scale()
model(torch.ones(3)).sum().backward()
"""
    good_shows = "model.gain.grad is not None"

    def check(self, event: fault.ParameterMoved | NoParameterRegistered) -> Report | None:
        raises = isinstance(event, NoParameterRegistered)
        what, follows = "this", "torch raises here"
        if isinstance(event, fault.ParameterMoved):
            what, follows = f"`{event.name}`", "it is neither registered nor trained"
        return Report(
            event.node,
            f"{what} is computed from a parameter but is not a parameter: {follows}",
            hint="compute first and wrap the result: `nn.Parameter(t.to(device))`",
            related=((event.made, "the parameter is created here and is not registered"),),
            effect="raises" if raises else None,
            repair=None if raises else _wrapped_last(event.node, event.made),
        )


def _wrapped_last(node: cst.CSTNode, made: cst.CSTNode) -> Repair | None:
    """Wrap the whole value in the parameter instead of a part of it."""
    if not isinstance(node, cst.Assign) or not isinstance(made, cst.Call) or not made.args:
        return None
    data, rest = made.args[0], made.args[1:]
    if data.keyword is not None or data.star:
        return None
    value = node.value.deep_replace(made, bracketed(data.value))
    flags = "".join(f", {source(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT))}" for arg in rest)
    text = f"{source(made.func)}({source(value)}{flags})"
    return Repair("wrap the result", (Change(node.value, text),), safe=False)
