from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class FunctionWithoutBackward(EventRule[refusal.FunctionWithoutBackward | refusal.ModeWithoutBackward]):
    """A loss is backpropagated through a custom function, or a mode of a function, that has no `backward`.

    What torch does
        It raises a NotImplementedError: "You must implement either the backward or vjp method for your
        custom autograd.Function to use it with backward mode AD". `torch.linalg.qr` has no derivative with `mode="r"`,
        nor with `mode="complete"` for a matrix with more rows than columns.

    Why it matters
        torch cannot derive the gradient of a function that computes with numpy or another library in `forward`.

    When it may be wrong
        If code that gradlint does not see adds `backward` to the class.

    Instead
        Define `backward` as a static method. Return None for an input that has no gradient.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD629"
    name = "function-without-backward"
    effect = "raises"
    raises = "You must implement"
    torch_says = ("You must implement", "You must implement either the backward or vjp method")
    bad = """\
import torch
from torch import nn


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()


model = nn.Linear(2, 2)
(Rounded.apply(model(torch.ones(1, 2))) - 1).pow(2).sum().backward()  # GRD629
"""
    good = """\
import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g


Rounded.apply(torch.ones(2, requires_grad=True)).sum().backward()
"""

    def check(self, event: refusal.FunctionWithoutBackward | refusal.ModeWithoutBackward) -> Report | None:
        """Report at the backward; the related place is the `apply`."""
        if isinstance(event, refusal.ModeWithoutBackward):
            of = "" if event.mode == "r" else " of a matrix with more rows than columns"
            return Report(
                event.node,
                f"this backward runs through a QR decomposition{of} in a mode without a derivative: torch raises here",
                hint='use `mode="reduced"`',
                related=((event.applied, f'the decomposition is computed here, with mode "{event.mode}"'),),
            )
        return Report(
            event.node,
            "this backward runs through a custom function that has no `backward`: torch raises here",
            hint="define `backward` as a static method of the function",
            related=((event.applied, "this function has no `backward`"),),
        )
