"""GRD620: a method of a custom function of autograd is not static."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import functions as fault
from gradlint.rules.base import Bad, Before, Good, Repair, Report, Rule


class FunctionNonstatic(Rule):
    """A method of a custom function of autograd is not static.

    What torch does
        It calls `forward` and `backward` on the class, with `ctx` in place of `self`, so that a method
        without `@staticmethod` works by chance. Making an object of the class warns, and calling the object
        raises.

    Why it matters
        The form dates from before torch 0.4, when a function was an object that kept its tensors in `self`.
        Attributes set on `self` in `__init__` are not there, and torch announces that making an object will
        raise.

    When it may be wrong
        The gradient is right as long as the class is never instantiated.

    Instead
        Put `@staticmethod` above `forward`, `setup_context` and `backward`, name the first parameter `ctx`,
        and pass what `__init__` took to `apply`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD620"
    name = "function-nonstatic"
    effect = "fragile"
    events = (fault.FunctionNonstatic,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch


class Double(torch.autograd.Function):
    def forward(ctx, x):  # GRD620
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


x = torch.ones(3, requires_grad=True)
Double.apply(x).sum().backward()
""",
            shows="x.grad is not None and not isinstance(vars(Double)['forward'], staticmethod)",
        ),
        Bad(
            """\
import torch


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    def backward(ctx, grad_output):  # GRD620
        return -grad_output


x = torch.ones(3, requires_grad=True)
Reverse.apply(x).sum().backward()
""",
            shows="x.grad.sum() == -3 and not isinstance(vars(Reverse)['backward'], staticmethod)",
        ),
        Bad(
            """\
import torch


class Double(torch.autograd.Function):
    def forward(ctx, x):  # GRD620
        return x * 2

    def backward(ctx, g):  # GRD620
        return g * 2


x = torch.ones(2, requires_grad=True)
Double.apply(x)
""",
        ),
        Bad(
            """\
import torch
from torch.autograd import Function


class Scale(Function):
    def forward(ctx, x, factor):  # GRD620
        ctx.factor = factor
        return x * factor

    def backward(ctx, grad_output):  # GRD620
        return grad_output * ctx.factor, None


class Half(Scale):
    @staticmethod
    def apply_to(x):
        return Half.apply(x, 0.5)


x = torch.ones(3, requires_grad=True)
Half.apply_to(x).sum().backward()
""",
            shows="x.grad.sum() == 1.5 and not isinstance(vars(Scale)['forward'], staticmethod)",
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


x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()
""",
            shows="x.grad.sum() == 6",
        ),
        Good(
            """\
import torch


class Double:
    def forward(self, x):
        return x * 2


x = torch.ones(3, requires_grad=True)
Double().forward(x).sum().backward()
""",
            shows="x.grad.sum() == 6",
        ),
        Good(
            """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


Double.apply(torch.ones(2, requires_grad=True)).sum().backward()
""",
        ),
        Good(
            """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g * 2


Double.apply(torch.ones(2, requires_grad=True)).sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the method."""
        assert isinstance(event, fault.FunctionNonstatic)
        yield Report(
            event.node,
            f"`{event.method}` of a custom function is not static: this works by chance, and not on an object",
            hint="put `@staticmethod` above it",
            repair=Repair("add `@staticmethod`", (Before(event.node, "@staticmethod"),)),
        )
