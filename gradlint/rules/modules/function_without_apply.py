from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report


class FunctionWithoutApply(EventRule[refusal.FunctionWithoutApply]):
    """A custom autograd function is called without `apply`.

    What torch does
        Calling an instance of the class raises a RuntimeError: "Legacy autograd function with non-static
        forward method is deprecated". It does so even if `forward` is static. If `forward` is called
        directly with None as its `ctx`, Python raises at the first use of `ctx`.

    Why it matters
        Before torch 0.4, a function was instantiated and then called, `Square()(x)`, and much old code still does this.

    When it may be wrong
        If the program expects the exception.

    Instead
        Call `Square.apply(x)`. For a function to call by name, assign `square = Square.apply`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD621"
    name = "function-without-apply"
    effect = "raises"
    raises = "Legacy autograd function with non-static forward method"
    fix = "safe"
    torch_says = ("'.*' object has no attribute '.*'", "Legacy autograd function with non-static forward method")
    bad = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


x = torch.ones(3, requires_grad=True)
y = Square()(x)  # GRD621
"""
    good = """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 2 * x * grad_output


square = Square.apply
x = torch.ones(3, requires_grad=True)
square(x).sum().backward()
"""
    good_shows = "x.grad.sum() == 6"

    def check(self, event: refusal.FunctionWithoutApply) -> Report | None:
        """Report the call of the class or of its instance, or the use of a `ctx` that is None."""
        message = "this calls an instance of a custom function: torch raises here"
        if event.use == "made":
            made = "this creates an instance of a custom function, not a tensor"
            message = f"{made}: Python raises where it is used as a tensor"
        elif event.use == "without-ctx":
            message = f"`forward` is called with None as its `ctx`, which has no `{event.name}`: Python raises here"
        repair = None if event.use == "without-ctx" else _applied(event.node)
        return Report(event.node, message, hint="call `apply` on the class", repair=repair)


def _applied(node: cst.CSTNode) -> Repair | None:
    """Turn `Square()(x)` and `Square(x)` into `Square.apply(x)`, unless the instance has arguments."""
    made = node.func if isinstance(node, cst.Call) else None
    called = made.func if isinstance(made, cst.Call) and not made.args else made
    if made is None or not isinstance(called, (cst.Name, cst.Attribute)):
        return None
    return Repair("call `apply` on the class", (Change(made, f"{code(called)}.apply"),))
