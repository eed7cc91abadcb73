from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class InputMayNotRequireGrad(EventRule[refusal.NoDerivative]):
    """A function is called with an argument that requires grad but for which it has no derivative.

    What torch does
        It raises a RuntimeError that names the function: "The function 'nll_loss_forward' is not
        differentiable with respect to argument 'weight'. This input cannot have requires_grad True." It
        does so at the call, as long as grad mode is on.

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
    torch_says = ("is not differentiable with respect to argument", "must be", "invalid combination", "Can't call")
    raises = "is not differentiable with respect to argument 'weight'"
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

    def check(self, event: refusal.NoDerivative) -> Report | None:
        op = operation(event.op, event.node)
        if event.number:
            return Report(
                event.node,
                f"{op} takes a Python number as `{event.number}`, not a tensor that requires grad: torch raises here",
                hint="write the operation as a formula if the tensor should be trained; otherwise pass `.item()` of it",
            )
        return Report(
            event.node,
            f"{op} has no derivative for an input that requires grad: torch raises here",
            hint='pass that argument with `.detach()`, or use `reduction="none"` and multiply by the weights',
        )
