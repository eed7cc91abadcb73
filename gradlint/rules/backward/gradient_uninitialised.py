from __future__ import annotations

import re

import libcst as cst

from gradlint.domain.fault import backward as fault
from gradlint.rules.authoring.repairs import code, ones_as_gradient
from gradlint.rules.base import Change, EventRule, Repair, Report


class GradientUninitialised(EventRule[fault.GradientUninitialised]):
    """The gradient passed to `backward` is uninitialised memory.

    What torch does
        `torch.FloatTensor(1)` is a tensor with one element, not with the value 1. Like `torch.empty`,
        it does not initialise its memory. Every gradient is multiplied by whatever that memory
        contains: often zero, sometimes 1e-38 or 1e30.

    Why it matters
        Gradients are silently wrong by a factor that changes from run to run.

    When it may be wrong
        If code that gradlint does not see fills the tensor.

    Instead
        A loss with one element needs no argument. Otherwise pass `torch.ones_like(loss)` or the
        intended weights; `torch.tensor([1.0])` contains the value 1.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.empty.html
    """

    code = "GRD203"
    name = "gradient-uninitialised"
    effect = "silent"
    fix = "safe or unsafe"
    bad = """\
import torch

x = torch.ones(4, requires_grad=True)
y = x * 2
y.backward(gradient=torch.empty(4))  # GRD203
"""
    bad_shows = "(x.grad != 2).any()"
    good = """\
import torch

x = torch.ones(4, requires_grad=True)
y = x * 2
y.backward(torch.ones_like(y))
"""
    good_shows = "x.grad.tolist() == [2, 2, 2, 2]"

    def check(self, event: fault.GradientUninitialised) -> Report | None:
        return Report(
            event.node,
            "the gradient argument is uninitialised memory: every gradient is multiplied by whatever it contains",
            hint="pass `torch.ones_like` of the tensor, or nothing if the loss has one element",
            related=((event.taken, "the uninitialised tensor is created here"),),
            repair=_repair(event),
        )


def _repair(event: fault.GradientUninitialised) -> Repair | None:
    """Pass ones in the call; if the gradient is computed from the memory, as `mone = one * -1`, create ones instead."""
    if not event.scaled:
        return ones_as_gradient(event.node, safe=True)
    made = event.taken
    taking = _TAKING.fullmatch(code(made.func)) if isinstance(made, cst.Call) else None
    if taking is None or not isinstance(made, cst.Call):
        return None
    ones = f"{taking[1]}.ones"
    return Repair(f"create it with `{ones}`", (Change(made.func, ones),), safe=False)


_TAKING = re.compile(r"(\w+)\.(?:FloatTensor|Tensor|empty)")
"""Constructors of uninitialised tensors, under any name of torch, with the arguments of `torch.ones`."""
