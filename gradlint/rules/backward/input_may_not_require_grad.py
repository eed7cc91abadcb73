from __future__ import annotations

from gradlint.domain.refusal import backward
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class InputMayNotRequireGrad(
    EventRule[refusal.NoDerivative | refusal.TensorForNumber | backward.SecondDerivativeMissing]
):
    """A function is called with an argument that requires grad but for which it has no derivative.

    What torch does
        It raises a RuntimeError that names the function: "The function 'nll_loss_forward' is not
        differentiable with respect to argument 'weight'. This input cannot have requires_grad True." It
        does so at the call, as long as grad mode is on. Where a function takes a number, a tensor that requires grad
        is a TypeError: "leaky_relu(): argument 'negative_slope' must be Number, not Tensor". A few operations, such as
        `ctc_loss` and `pdist`, have no second derivative: a backward through a gradient of theirs raises "the
        derivative for '_pdist_backward' is not implemented".

    Why it matters
        Some functions are differentiable with respect to only some of their arguments. `nll_loss` has no derivative for
        its class weights, `binary_cross_entropy` for its weights, `soft_margin_loss` for its targets. Learned loss
        weights therefore cannot be passed as such arguments. Options such as `negative_slope` of `leaky_relu` or
        `alpha` of `add` are Python numbers: of a tensor, torch takes the number, unless the tensor requires grad.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see disables grad mode.

    Instead
        Detach the argument (`weight.detach()`). If it should be trained, compute the loss with
        `reduction="none"` and multiply by the weights.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.nll_loss.html
    """

    code = "GRD223"
    name = "input-may-not-require-grad"
    effect = "raises"
    raises = "is not differentiable with respect to argument 'weight'"
    torch_says = (
        "is not differentiable with respect to argument",
        "that requires grad",
        r"argument '\w+'.* must be (?:float|Number), not (?:Tensor|Parameter)",
        "derivative for .* is not implemented",
        "invalid combination",
        "Can't call",
    )
    bad = """\
import torch
import torch.nn.functional as F

weight = torch.ones(3, requires_grad=True)
scores = torch.randn(4, 3, requires_grad=True).log_softmax(dim=1)
loss = F.nll_loss(scores, torch.tensor([0, 1, 2, 0]), weight)  # GRD223
"""
    good = """\
import torch
import torch.nn.functional as F

weight = torch.ones(3, requires_grad=True)
scores = torch.randn(4, 3, requires_grad=True).log_softmax(dim=1)
loss = F.nll_loss(scores, torch.tensor([0, 1, 2, 0]), weight.detach())
loss.backward()
"""

    def check(
        self, event: refusal.NoDerivative | refusal.TensorForNumber | backward.SecondDerivativeMissing
    ) -> Report | None:
        if isinstance(event, backward.SecondDerivativeMissing):
            return Report(
                event.node,
                f"this backward goes through a gradient of `{event.op}`, which has no derivative: torch raises here",
                hint="compute the operation from others that can be differentiated twice",
                related=((event.made, "the operation is called here"),),
            )
        if isinstance(event, refusal.TensorForNumber):
            return Report(
                event.node,
                f"{operation(event.op, event.node)} takes a number as `{event.name}`, and gets a tensor that requires "
                "grad: torch raises here",
                hint="write the formula with operations on tensors if it should be trained, or pass a number",
            )
        op = operation(event.op, event.node)
        return Report(
            event.node,
            f"{op} has no derivative for an input that requires grad: torch raises here",
            hint='pass that argument with `.detach()`, or use `reduction="none"` and multiply by the weights',
        )
