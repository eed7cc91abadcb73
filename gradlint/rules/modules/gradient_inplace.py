from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import functions as fault
from gradlint.rules.authoring.phrases import target, writing
from gradlint.rules.base import Before, EventRule, Repair, Report


class GradientInplace(EventRule[fault.GradientInplace]):
    """The backward of a custom function, or a hook, writes to its incoming gradient.

    What torch does
        The gradient belongs to the autograd engine, which may pass the same tensor to other operations.
        After the write they silently compute with the changed values. If the gradient is an expanded
        tensor, as after `sum()`, the write raises.

    Why it matters
        `(f(x) + x).pow(2)` passes the same gradient tensor to both terms; a `mul_` in the backward of
        `f` also changes it for the other term.

    When it may be wrong
        If the gradient is not used anywhere else.

    Instead
        Write to a copy: `grad_input = grad_output.clone()`, or compute out of place. A hook returns the new gradient.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD628"
    name = "gradient-inplace"
    effect = "fragile"
    fix = "safe"
    bad = """\
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0  # GRD628
        return grad_output


x = torch.ones(3, requires_grad=True)
Rectify.apply(x).sum().backward()
"""
    good = """\
import torch


class Rectify(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad = grad_output.clone()
        grad[x < 0] = 0
        return grad


x = torch.ones(3, requires_grad=True)
Rectify.apply(x).sum().backward()
"""

    def check(self, event: fault.GradientInplace) -> Report | None:
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes to the incoming gradient, which torch may pass to other "
            "operations too",
            hint="return a new gradient instead" if event.hook else "write to a copy: `grad_output.clone()`",
            repair=None if event.hook else _copied(event.node),
        )


def _copied(node: cst.CSTNode) -> Repair | None:
    """Rebind the name of the gradient to a copy first."""
    text = target(node)
    if text is None or not text.isidentifier():
        return None
    return Repair(f"write to a copy of `{text}`", (Before(node, f"{text} = {text}.clone()"),))
