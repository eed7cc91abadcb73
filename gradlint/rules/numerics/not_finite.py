from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.fault.numerics import NonfiniteGradient, NonfiniteValue
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = NonfiniteValue | NonfiniteGradient


class NotFinite(EventRule[_Event]):
    """A loss or a gradient becomes NaN or infinite in a run.

    What torch does
        It computes on. Backward of a loss that is NaN makes all gradients NaN, and the next step all parameters.

    Why it matters
        From then on nothing is trained. The operation that made the first NaN is often far away from the loss that
        shows it.

    When it may be wrong
        `gradlint run` reports it only if the program backpropagates such a loss, or steps on such a gradient. Infinite
        gradients of a scaled loss are normal: a `GradScaler` skips their step.

    Instead
        Keep what the operation is given away from the values at which it is not finite: add a small constant under a
        root, in a divisor and in a logarithm, or use a function that computes both in one, such as `log_softmax`.

    References
        https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
        https://docs.pytorch.org/docs/stable/notes/autograd.html#gradients-for-non-differentiable-functions
    """

    code = "GRD408"
    name = "not-finite"
    effect = "silent"
    run_only = True
    bad = """\
import torch

x = torch.tensor([0.5, 0.0], requires_grad=True)
loss = x.log().sum()  # GRD408
loss.backward()
"""
    bad_shows = "loss.isinf() and x.grad.isinf().any()"
    good = """\
import torch

x = torch.tensor([0.5, 0.0], requires_grad=True)
loss = x.clamp(min=1e-6).log().sum()
loss.backward()
"""
    good_shows = "loss.isfinite() and x.grad.isfinite().all()"

    def check(self, event: _Event) -> Report | None:
        """Report the operation, with what it was given; the place where its value is backpropagated explains it."""
        given = f", given {event.given}" if event.given else ""
        if isinstance(event, NonfiniteValue):
            what = (
                f"`{event.op}` makes the first value that is not finite{given}"
                if event.op
                else "this loss is not finite"
            )
            related = (
                (None if event.loss is event.node else event.loss, f"the loss of this backward is {event.value}"),
            )
            return Report(event.node, what, hint=_HINT, related=related)
        if event.op:
            what = f"the gradient of `{event.op}` is the first that is not finite{given}"
            return Report(event.node, what, hint=_HINT, related=((event.backward, "in this backward"),))
        return Report(
            event.node,
            "a gradient of this backward is not finite, and a step uses it",
            hint=_HINT,
            related=((event.leaf, "it is the gradient of this parameter"), (event.backward, "this step uses it")),
        )


_HINT = "keep the values away from zeros of divisors, roots and logarithms, and from overflow"
