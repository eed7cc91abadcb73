from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.refusal import backward as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = (
    refusal.GradInputUnused
    | refusal.GradInputWithoutGraph
    | refusal.GradInputsEmpty
    | refusal.GradOption
    | refusal.UnusedGradientUsed
)


class GradInputUnused(EventRule[_Event]):
    """`autograd.grad` differentiates with respect to a tensor that the output does not depend on.

    What torch does
        For an input that requires grad but is not part of the output's graph, it raises a RuntimeError:
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set
        allow_unused=True if this is the desired behavior." For an input that does not require grad, the
        error is "One of the differentiated Tensors does not require grad", and with `backward(inputs=...)` "can't
        retain_grad on Tensor that has requires_grad=False". An empty list is rejected: "`inputs` argument to `grad()`
        cannot be empty", and so is what is no tensor, such as the pairs of `named_parameters()`. With
        `allow_unused=True` it gives None for an unused input, with which Python cannot compute.

    Why it matters
        Usually the input is not the tensor that was used but a view of it or a copy
        (`x.to(device)`, `x.detach()`), or `requires_grad_()` was called on the data too late.

    When it may be wrong
        If the line is never executed.

    Instead
        Pass the tensor that was used in the computation, call `requires_grad_()` on it before it is
        used, or pass `allow_unused=True` and test for None. `materialize_grads=True` gives zeros instead of None.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD207"
    name = "grad-input-unused"
    effect = "raises"
    raises = "appears to not have been used in the graph"
    fix = "unsafe"
    torch_says = (
        "One of the differentiated Tensors does not require grad",
        "appears to not have been used in the graph",
        "can't retain_grad on Tensor",
        "cannot be empty",
        "Expected allow_unused to be True or not passed",
        "in_dim=0 for some input",
        "Expected all tensors to have the same size",
        "is not a Tensor",
        "unsupported operand type.*NoneType",
        "NoneType' object",
        "not NoneType",
        "got .*NoneType",
        "invalid index of a 0-dim tensor",
        "all inputs have to be Tensors",
        "is not a Tensor|has no attribute 'requires_grad'|has no attribute 'retain_grad'",
    )
    bad = """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b])  # GRD207
"""
    good = """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b], allow_unused=True)
"""

    def check(self, event: _Event) -> Report | None:
        """Report the call, for an input that is not used or does not require grad, or the use of its None."""
        if isinstance(event, refusal.GradInputsEmpty):
            call = "backward" if event.call == "backward" else "autograd.grad"
            return Report(
                event.node,
                f"the list of inputs that `{call}` is given is empty: torch raises here",
                hint="pass tensors that require grad; an iterator such as `model.parameters()` is empty after one use",
            )
        if isinstance(event, refusal.GradOption):
            said, hint = _OPTIONS[event.reason]
            return Report(event.node, f"{said}: torch raises here", hint=hint)
        if isinstance(event, refusal.UnusedGradientUsed):
            return Report(
                event.node,
                "this computes with the None that `allow_unused=True` gives for an unused input: Python raises here",
                hint="test it for None, or pass `materialize_grads=True` to get zeros",
                related=((event.asked, "the gradient is None here"), (event.made, "the input is created here")),
            )
        unused = isinstance(event, refusal.GradInputUnused)
        reason, hint = _UNUSED if unused else _WITHOUT_GRAPH
        backward = isinstance(event, refusal.GradInputWithoutGraph) and event.call == "backward"
        call = "backward" if backward else "autograd.grad"
        return Report(
            event.node,
            f"`{call}` differentiates with respect to a tensor that {reason}: torch raises here",
            hint=hint,
            related=((event.made, "the input is created here"),),
            repair=with_argument(event.node, "allow_unused=True", safe=False) if unused else None,
        )


_OPTIONS = {
    "materialize": ("`materialize_grads=True` excludes `allow_unused=False`", "remove `allow_unused=False`"),
    "flat": ("`is_grads_batched=True` is given a gradient without dimensions", "stack the gradients of the batch"),
    "sizes": ("the batches of gradients have different sizes", "give each tensor as many gradients"),
    "variables": ("`grad_variables` is an old name of `grad_tensors`, and both are given", "remove `grad_variables`"),
    "inputs": ("an input is no tensor", "pass the tensors themselves, such as `model.parameters()`"),
    "batched": ("`is_grads_batched=True` is given no `grad_outputs`", "pass one gradient for each of the batch"),
}
_UNUSED = ("the output does not depend on", "pass the tensor that was used in the computation, or `allow_unused=True`")
_WITHOUT_GRAPH = ("does not require grad", "call `requires_grad_()` on it before it is used")
