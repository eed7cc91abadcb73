from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = refusal.FunctionWithoutBackward | refusal.FunctionWithoutForward | refusal.DifferentiatedTwice


class FunctionWithoutBackward(EventRule[_Event]):
    """A loss is backpropagated through a custom function that has no `backward`, or none for a second derivative.

    What torch does
        It raises a NotImplementedError: "You must implement either the backward or vjp method for your
        custom autograd.Function to use it with backward mode AD". If `backward` is marked with
        `once_differentiable`, a backward through its gradient raises a RuntimeError: "trying to differentiate twice a
        function that was marked with @once_differentiable".

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
    torch_says = ("You must implement", "Implementing both", "trying to differentiate twice a function")
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

    def check(self, event: _Event) -> Report | None:
        """Report at the backward; the related place is the `apply`, which raises itself without a `forward`."""
        if isinstance(event, refusal.FunctionWithoutForward):
            return Report(
                event.node,
                "this applies a custom function that has no `forward`: torch raises here",
                hint="define `forward` as a static method of the function",
            )
        if isinstance(event, refusal.DifferentiatedTwice):
            return Report(
                event.node,
                "this backward differentiates again the gradient of a custom function that is marked with "
                "`once_differentiable`: torch raises here",
                hint="remove `once_differentiable`, and compute the gradient with differentiable operations",
                related=((event.applied, "the function is applied here"),),
            )
        if event.reason == "raises":
            return Report(
                event.node,
                "this backward runs through a custom function whose `backward` always raises an exception",
                hint="let `backward` return a gradient for each input",
                related=((event.applied, "the function is applied here"), (event.defined, "this method raises")),
            )
        if event.reason == "both":
            return Report(
                event.node,
                "this backward runs through a custom function that defines both `backward` and `vjp`: torch raises "
                "here",
                hint="define one of them",
                related=((event.applied, "the function is applied here"),),
            )
        return Report(
            event.node,
            "this backward runs through a custom function that has no `backward`: torch raises here",
            hint="define `backward` as a static method of the function",
            related=((event.applied, "this function has no `backward`"),),
        )
