from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.fault import training_loop as fault
from gradlint.domain.refusal import training_loop as refusal
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = refusal.ClosureMissing | refusal.ClosureIsValue | fault.ClosureWithoutBackward


class ClosureMissing(EventRule[_Event]):
    """LBFGS steps without a closure, or an optimizer steps with a closure that runs no backward.

    What torch does
        `torch.optim.LBFGS` evaluates the loss and its gradient several times in one step. Its `step` requires a
        function that clears the gradients, computes the loss, calls backward and returns the loss. Without it Python
        raises a TypeError: "step() missing 1 required positional argument"; and "float() argument must be a string or a
        real number" if the closure returns nothing. Every optimizer accepts a closure that
        returns the loss without calling backward: the step finds no gradients, and changes nothing.

    Why it matters
        A loop written for SGD or Adam does not work with LBFGS, although it calls `backward` before the step.

    When it may be wrong
        If the line is never executed. A closure is not reported if a backward has run before the step.

    Instead
        Write `optimizer.step(closure)`, with the body of the iteration in `closure`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.optim.LBFGS.html
        https://docs.pytorch.org/docs/stable/optim.html#optimizer-step-closure
    """

    code = "GRD508"
    name = "closure-missing"
    effect = "raises"
    raises = "missing 1 required positional argument"
    torch_says = ("'Tensor' object is not callable", "missing 1 required positional argument", "float\\(\\) argument")
    bad = """\
import torch

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.LBFGS([w])
for step in range(3):
    optimizer.zero_grad()
    loss = (w - 1).pow(2).sum()
    loss.backward()
    optimizer.step()  # GRD508
"""
    good = """\
import torch

w = torch.zeros(3, requires_grad=True)
optimizer = torch.optim.LBFGS([w])


def closure():
    optimizer.zero_grad()
    loss = (w - 1).pow(2).sum()
    loss.backward()
    return loss


for step in range(3):
    optimizer.step(closure)
"""
    good_shows = "torch.allclose(w, torch.ones(3), atol=1e-4)"

    def check(self, event: _Event) -> Report | None:
        """Report at the step that needs a function, or whose function does too little."""
        if isinstance(event, fault.ClosureWithoutBackward):
            return Report(
                event.node,
                "the closure of this step computes a loss and runs no backward: the step finds no new gradients",
                hint="call `loss.backward()` in the closure, before it returns the loss",
                related=((event.closure, "this closure runs no backward"),),
                effect="silent",
            )
        if isinstance(event, refusal.ClosureIsValue):
            return Report(
                event.node,
                "`step` is given a value, and takes a function that computes the loss: torch raises here",
                hint="pass the function itself, without calling it; most optimizers need none",
            )
        if event.closure is not None:
            return Report(
                event.node,
                "the closure of this step returns None, and LBFGS needs the loss: torch raises here",
                hint="return the loss",
                related=((event.closure, "this closure returns no loss"),),
            )
        return Report(
            event.node,
            "LBFGS steps without a closure: torch raises here",
            hint="put what computes the loss and its gradient into a function, and pass it to `step`",
        )
