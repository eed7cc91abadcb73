from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.rules.base import Before, EventRule, Repair, Report


class FunctionNonstatic(EventRule[fault.FunctionNonstatic]):
    """A method of a custom autograd function is not static.

    What torch does
        It calls `forward` and `backward` on the class, with `ctx` in the position of `self`, so a method without
        `@staticmethod` works by accident. Instantiating the class warns, and calling the instance raises.

    Why it matters
        Before torch 0.4, a function was an object that stored its tensors in `self`. Attributes set on `self` in
        `__init__` are not available today, and torch has announced that instantiating a function will raise.

    When it may be wrong
        The gradient is correct if the class is never instantiated.

    Instead
        Put `@staticmethod` above `forward`, `setup_context` and `backward`, name the first parameter `ctx`,
        and pass the arguments of `__init__` to `apply`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD620"
    name = "function-nonstatic"
    effect = "fragile"
    fix = "safe"
    bad = """\
import torch


class Double(torch.autograd.Function):
    def forward(ctx, x):  # GRD620
        return x * 2

    def backward(ctx, g):  # GRD620
        return g * 2


x = torch.ones(2, requires_grad=True)
Double.apply(x)
"""
    good = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


Double.apply(torch.ones(2, requires_grad=True)).sum().backward()
"""

    def check(self, event: fault.FunctionNonstatic) -> Report | None:
        return Report(
            event.node,
            f"`{event.method}` of a custom function is not static: torch raises if an instance is called",
            hint="add `@staticmethod` above it",
            repair=Repair("add `@staticmethod`", (Before(event.node, "@staticmethod"),)),
        )
