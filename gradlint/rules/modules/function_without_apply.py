"""GRD621: a custom function of autograd is called other than by `apply`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class FunctionWithoutApply(Rule):
    """A custom function of autograd is called other than by `apply`.

    What torch does
        An object of the class, when it is called, raises a RuntimeError: "Legacy autograd function with
        non-static forward method is deprecated". It does so whether `forward` is static or not. Where
        `forward` is called by name and given None for its `ctx`, Python raises at the first method of it.

    Why it matters
        Before torch 0.4 a function was made and then called, `Square()(x)`, and much old code does so.

    When it may be wrong
        Where an exception is what the program expects.

    Instead
        `Square.apply(x)`. For a name to call, `square = Square.apply`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD621"
    name = "function-without-apply"
    effect = "raises"
    events = (refusal.FunctionWithoutApply,)
    fix = "safe"
    bad = (
        Bad(
            """\
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
""",
            error="Legacy autograd function with non-static forward method",
        ),
        Bad(
            """\
import torch


class Double(torch.autograd.Function):
    def forward(self, x):  # GRD620
        return x * 2

    def backward(self, grad_output):  # GRD620
        return grad_output * 2


double = Double()
y = double(torch.ones(3, requires_grad=True))  # GRD621 # raises
""",
            error="Legacy autograd function with non-static forward method",
        ),
        Bad(
            """\
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
y = Square(x)  # GRD621
y.sum().backward()  # raises
""",
            error="'Square' object has no attribute 'sum'",
        ),
    )
    good = (
        Good(
            """\
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
""",
            shows="x.grad.sum() == 6",
        ),
        Good(
            """\
import torch
from torch import nn


class Square(nn.Module):
    def forward(self, x):
        return x**2


x = torch.ones(3, requires_grad=True)
Square()(x).sum().backward()
""",
            shows="x.grad.sum() == 6",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the use of the class, or of what `forward` is given for its `ctx`."""
        assert isinstance(event, refusal.FunctionWithoutApply)
        if event.use == "made":
            yield Report(
                event.node,
                "this makes an object of a custom function, which is no tensor: what uses it as one raises",
                hint="call `apply` on the class",
                repair=_applied(event.node),
            )
            return
        if event.use == "without-ctx":
            yield Report(
                event.node,
                f"`forward` is called with None for its `ctx`, which has no `{event.name}`: Python raises here",
                hint="call `apply` on the class",
            )
            return
        yield Report(
            event.node,
            "this calls an object of a custom function: torch raises here",
            hint="call `apply` on the class",
            repair=_applied(event.node),
        )


def _applied(node: cst.CSTNode) -> Repair | None:
    """`Square()(x)` becomes `Square.apply(x)`, and so does `Square(x)`; what an object was made with would be lost."""
    made = node.func if isinstance(node, cst.Call) else None
    if isinstance(made, (cst.Name, cst.Attribute)):
        return Repair("call `apply` on the class", (Change(made, f"{code(made)}.apply"),))
    if not isinstance(made, cst.Call) or made.args:
        return None
    return Repair("call `apply` on the class", (Change(made, f"{code(made.func)}.apply"),))
