"""GRD223: an argument requires grad for which the function has no derivative."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "is not differentiable with respect to argument 'weight'"


class InputMayNotRequireGrad(Rule):
    """An argument requires grad for which the function has no derivative.

    What torch does
        It raises a RuntimeError that names the function: "The function 'nll_loss_forward' is not
        differentiable with respect to argument 'weight'. This input cannot have requires_grad True." It
        does so at the call, as long as grad mode is on.

    Why it matters
        Some functions are differentiable in one argument and refuse another: the class weights of
        `nll_loss`, the weights of `binary_cross_entropy`, the targets of `soft_margin_loss`. Weights of
        losses that are to be learned end here.

    When it may be wrong
        Where the line is never reached, or something that gradlint does not see switches grad mode off.

    Instead
        Detach the argument (`weight.detach()`), or, if it is to be trained, multiply it in yourself:
        `reduction="none"` and a product.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html
    """

    code = "GRD223"
    name = "input-may-not-require-grad"
    effect = "raises"
    events = (refusal.NoDerivative,)
    bad = (
        Bad(
            """\
import torch
import torch.nn.functional as F

weight = torch.ones(3, requires_grad=True)
scores = torch.randn(4, 3, requires_grad=True).log_softmax(dim=1)
loss = F.nll_loss(scores, torch.tensor([0, 1, 2, 0]), weight)  # GRD223
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
import torch.nn.functional as F

weight = torch.ones(3, requires_grad=True)
scores = torch.randn(4, 3, requires_grad=True).log_softmax(dim=1)
loss = F.nll_loss(scores, torch.tensor([0, 1, 2, 0]), weight.detach())
loss.backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An argument that torch refuses to differentiate."""
        assert isinstance(event, refusal.NoDerivative)
        op = operation(event.op, event.node)
        yield Report(
            event.node,
            f"{op} has no derivative for an input that requires grad: torch raises here",
            hint="pass that argument with `.detach()`, or multiply it in yourself",
        )
