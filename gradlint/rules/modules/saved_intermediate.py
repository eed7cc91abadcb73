"""GRD627: a custom function saves a tensor that is neither an input nor a result."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import functions as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class SavedIntermediate(Rule):
    """A custom function saves a tensor that is neither an input nor a result.

    What torch does
        It saves it, but the tensor has no graph, for `forward` runs without grad mode. A second derivative
        through it is silently missing.

    Why it matters
        A gradient penalty or a Hessian then lacks a term, or the gradient of the gradient does not require
        grad at all.

    When it may be wrong
        Wherever no second derivative is taken, which is nearly everywhere; so the rule is off unless it is
        selected.

    Instead
        Return the intermediate result as a further output, save inputs and results only, or put
        `@once_differentiable` above `backward`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD627"
    name = "saved-intermediate"
    effect = "fragile"
    events = (fault.SavedIntermediate,)
    default = False
    bad = (
        Bad(
            """\
import torch


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.pow(2).sum().sqrt()
        unit = x / length
        ctx.save_for_backward(unit)  # GRD627
        return length

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]


x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(Norm.apply(x), x, create_graph=True)
""",
            shows="not slope.requires_grad",
        ),
    )
    good = (
        Good(
            """\
import torch


class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        length = x.pow(2).sum().sqrt()
        ctx.save_for_backward(x, length)
        return length

    @staticmethod
    def backward(ctx, grad_output):
        x, length = ctx.saved_tensors
        return grad_output * x / length


x = torch.ones(3, requires_grad=True)
(slope,) = torch.autograd.grad(Norm.apply(x), x, create_graph=True)
""",
            shows="slope.requires_grad",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report where the tensor is saved."""
        assert isinstance(event, fault.SavedIntermediate)
        yield Report(
            event.node,
            "what is saved is neither an input nor a result: a second derivative misses it",
            hint="save inputs and results, or return it as a further result",
        )
