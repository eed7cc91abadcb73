"""GRD628: the backward of a custom function writes to the gradient that arrives."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import functions as fault
from gradlint.rules.authoring.phrases import target, writing
from gradlint.rules.base import Bad, Before, Good, Repair, Report, Rule


class GradientInplace(Rule):
    """The backward of a custom function writes to the gradient that arrives.

    What torch does
        The gradient belongs to the engine, which may hand the same tensor to other operations: after the
        write they compute with the changed values, and torch says nothing. Where the gradient is an
        expanded tensor, as behind `sum()`, the write raises.

    Why it matters
        `(f(x) + x).pow(2)` gives both terms the same gradient tensor; a `mul_` in the backward of `f`
        changes it for the other term as well.

    When it may be wrong
        Where the gradient is certainly used nowhere else.

    Instead
        Write to a copy: `grad_input = grad_output.clone()`, or compute out of place.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD628"
    name = "gradient-inplace"
    effect = "fragile"
    events = (fault.GradientInplace,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output.mul_(2)  # GRD628


w = torch.ones(3, requires_grad=True)
h = w * 1
(Double.apply(h) + h).pow(2).sum().backward()
""",
            shows="differs_from_finite_differences(lambda: (w * 2 + w).pow(2).sum(), w)",
        ),
        Bad(
            """\
import torch


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_output[x < 0] = 0  # GRD628
        return grad_output


w = torch.tensor([-1.0, 0.5, -2.0], requires_grad=True)
h = w * 1
(Relu.apply(h) + h).pow(2).sum().backward()
""",
            shows="differs_from_finite_differences(lambda: (w.clamp(min=0) + w).pow(2).sum(), w)",
        ),
        Bad(
            """\
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
""",
        ),
        Bad(
            """\
import torch


def clip_(gradient, bound):
    return gradient.clamp_(-bound, bound)  # GRD628


class Clipped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return clip_(grad_output, bound=0.1)


w = torch.ones(3, requires_grad=True)
h = w * 1
(Clipped.apply(h) + h).pow(2).sum().backward()
""",
            shows="torch.allclose(w.grad, torch.tensor(0.2))",
        ),
    )
    good = (
        Good(
            """\
import torch


class Relu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(min=0)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        grad_input = grad_output.clone()
        grad_input[x < 0] = 0
        return grad_input


w = torch.tensor([-1.0, 0.5, -2.0], requires_grad=True)
h = w * 1
(Relu.apply(h) + h).pow(2).sum().backward()
""",
            shows="not differs_from_finite_differences(lambda: (w.clamp(min=0) + w).pow(2).sum(), w)",
        ),
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
""",
        ),
        Good(
            """\
import torch


class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x / 2

    @staticmethod
    def backward(ctx, g):
        half = g * 0.5
        half += 0
        return half


x = torch.ones(3, requires_grad=True)
Half.apply(x).sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the write."""
        assert isinstance(event, fault.GradientInplace)
        yield Report(
            event.node,
            f"{writing(event.op, event.node)} writes to the gradient that arrives, which others may be given too",
            hint="write to a copy: `grad_output.clone()`",
            repair=_copied(event.node),
        )


def _copied(node: cst.CSTNode) -> Repair | None:
    """The name of the gradient means a copy from here on."""
    text = target(node)
    if text is None or not text.isidentifier():
        return None
    return Repair(f"write to a copy of `{text}`", (Before(node, f"{text} = {text}.clone()"),))
