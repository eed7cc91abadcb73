"""GRD226: what a derivative of a function is asked of, or what the function gives, does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Refused
from gradlint.rules.base import Bad, Good, Report, Rule


class TransformMismatch(Rule):
    """A function of `torch.func` or `torch.autograd.functional` is given, or gets back, what does not fit.

    What torch does
        It raises. `grad` and `hessian` differentiate a function that returns one number, as a tensor; all of
        them want tensors rather than Python numbers, of a type that has gradients. `vjp` wants cotangents
        shaped like the output, `jvp` tangents shaped like the inputs, and `argnums`, `in_dims` and `out_dims`
        have to agree with the arguments and results. With `strict=True`, the functions of
        `torch.autograd.functional` refuse a result that no gradient leads back from.

    Why it matters
        These functions look alike and want different things: a tuple here, a tensor there. A loss without
        `.mean()`, or a result made a number by `.item()`, ends here.

    When it may be wrong
        Where the line is never reached.

    Instead
        Return a tensor, reduced to one number for `grad`; for a function with several outputs use `jacrev`
        or `vjp`. What is no tensor goes with `in_dims=None`, or is bound by `functools.partial`.

    References
        https://docs.pytorch.org/docs/stable/func.api.html
        https://docs.pytorch.org/docs/stable/autograd.html#functional-higher-level-api
    """

    code = "GRD226"
    name = "transform-mismatch"
    effect = "raises"
    events = (Refused,)
    torch_says = (
        "[Ee]xpected",
        "should",
        "must",
        "can only be None",
        "argnum",
        "floating point",
        "size",
        "structure",
        "strict",
        "only",
    )
    bad = (
        Bad(
            """\
import torch
from torch.func import grad


def loss(w):
    return (w - 1) ** 2


grad(loss)(torch.randn(3))  # GRD226
""",
            error="to return a scalar Tensor",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch.func import grad


def loss(w):
    return ((w - 1) ** 2).mean()


gradient = grad(loss)(torch.randn(3))
""",
            shows="gradient.shape == (3,)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A derivative that cannot be taken so."""
        if not isinstance(event, Refused) or event.fault != "transform-mismatch":
            return
        yield Report(event.node, f"{event.subject}: torch raises here", related=event.related)
