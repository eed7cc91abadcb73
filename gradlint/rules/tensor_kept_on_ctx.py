"""GRD622: a custom function keeps an input or its result as an attribute of `ctx`."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Noticed
from gradlint.rules.base import Bad, Good, Report, Rule


class TensorKeptOnCtx(Rule):
    """A custom function keeps an input or its result as an attribute of `ctx`.

    What torch does
        It saves with `save_for_backward` so that writes in place are noticed, memory is freed after
        backward, and the graph of a result is no part of a circle. An attribute has none of this: a write
        between forward and backward changes the gradient without a word, and a result kept so keeps its own
        graph alive until the garbage collector runs.

    Why it matters
        It works until somebody writes `h += 1` behind the call, or runs out of memory.

    When it may be wrong
        Tensors that are neither inputs nor results may stand on `ctx`, and are not reported.

    Instead
        `ctx.save_for_backward(x)` in forward, `(x,) = ctx.saved_tensors` in backward.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD622"
    name = "tensor-kept-on-ctx"
    effect = "fragile"
    events = (Noticed,)
    bad = (
        Bad(
            """\
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x  # GRD622
        return x**2

    @staticmethod
    def backward(ctx, grad_output):
        return 2 * ctx.x * grad_output


w = torch.ones(3, requires_grad=True)
h = w * 1
y = Square.apply(h)
h += 1
y.sum().backward()
""",
            shows="differs_from_finite_differences(lambda: (w * 1).pow(2).sum(), w)",
        ),
        Bad(
            """\
import torch


class Sigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = 1 / (1 + torch.exp(-x))
        ctx.result = result  # GRD622
        return result

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.result * (1 - ctx.result)


x = torch.zeros(3, requires_grad=True)
y = Sigmoid.apply(x)
y.sum().backward()
""",
            shows="y.grad_fn.result is y",
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


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.kept = x > 0
        return x * factor

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.factor * ctx.kept, None


x = torch.ones(3, requires_grad=True)
Scale.apply(x, 3.0).sum().backward()
""",
            shows="x.grad.sum() == 9",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """What the interpreter saw when the function was applied."""
        if not isinstance(event, Noticed) or event.fault != "tensor-kept-on-ctx":
            return
        yield Report(
            event.node,
            f"`ctx.{event.subject}`: torch cannot notice writes to it, nor free it",
            hint="use `ctx.save_for_backward`",
            related=event.related,
        )
