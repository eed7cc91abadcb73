"""GRD207: `autograd.grad` is asked for the gradient of a tensor that the output does not depend on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Refused
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import Bad, Good, Repair, Report, Rule


class GradInputUnused(Rule):
    """`autograd.grad` is asked for the gradient of a tensor that the output does not depend on.

    What torch does
        For an input that requires grad and that no way of the graph leads to, it raises a RuntimeError:
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set
        allow_unused=True if this is the desired behavior." For an input that does not require grad,
        "One of the differentiated Tensors does not require grad".

    Why it matters
        Mostly the input is another tensor than the one that was used: a view of it, a copy
        (`x.to(device)`, `x.detach()`), or data for which `requires_grad_()` came too late.

    When it may be wrong
        Where the line is never reached.

    Instead
        Ask for the tensor that went into the computation, call `requires_grad_()` on it before, or pass
        `allow_unused=True` to get None for it.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD207"
    name = "grad-input-unused"
    effect = "raises"
    events = (Refused,)
    fix = "unsafe"
    torch_says = (
        "One of the differentiated Tensors does not require grad",
        "appears to not have been used in the graph",
    )
    bad = (
        Bad(
            """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b])  # GRD207
""",
            error="appears to not have been used in the graph",
        ),
    )
    good = (
        Good(
            """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b], allow_unused=True)
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Both ways in which an input can be none of the output's."""
        if not isinstance(event, Refused) or event.fault not in _REASONS:
            return
        reason, hint = _REASONS[event.fault]
        yield Report(
            event.node,
            f"`autograd.grad` is asked for the gradient of a tensor that {reason}: torch raises here",
            hint=hint,
            related=event.related,
            repair=_allowed(event) if event.fault == "grad-input-unused" else None,
        )


def _allowed(event: Refused) -> Repair | None:
    return with_argument(event.node, "allow_unused=True", safe=False)


_REASONS = {
    "grad-input-unused": (
        "the output does not depend on",
        "pass the tensor that went into the computation, or `allow_unused=True`",
    ),
    "grad-input-without-graph": (
        "does not require grad",
        "call `requires_grad_()` on it before it is used",
    ),
}
