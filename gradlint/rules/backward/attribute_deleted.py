from __future__ import annotations

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.base import EventRule, Report


class AttributeDeleted(EventRule[refusal.AttributeFixed]):
    """An attribute is deleted that every tensor has, such as `del x.data`, or a read-only one is set.

    What torch does
        It raises: "Deleting tensor data is not allowed. Delete tensor instead!", "requires_grad must be a bool", or
        "attribute 'grad_fn' of 'torch._C.TensorBase' objects is not writable". Only `del x.grad` is accepted: it sets
        the gradient to None. Setting `x.grad_fn`, `x.is_leaf`, `x.shape`, `x.dtype` or `x.device` raises the
        AttributeError as well, and `grad_dtype` has a leaf only.

    Why it matters
        Such a line is meant to free memory or a graph, and stops the program.

    When it may be wrong
        If the line is never executed.

    Instead
        Delete the variable, `del x`; cut the graph by `x = x.detach()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD240"
    name = "attribute-deleted"
    effect = "raises"
    raises = "Deleting tensor data is not allowed"
    torch_says = (
        "Deleting tensor data is not allowed",
        "requires_grad must be a bool",
        "is not writable",
        "Deletion of .* not allowed",
        "grad_dtype can only be",
    )
    bad = """\
import torch

x = torch.randn(5, requires_grad=True)
x.sum().backward()
del x.data  # GRD240
"""
    good = """\
import torch

x = torch.randn(5, requires_grad=True)
x.sum().backward()
del x.grad
"""
    good_shows = "x.grad is None"

    def check(self, event: refusal.AttributeFixed) -> Report | None:
        if event.done == "leaf":
            return Report(
                event.node,
                f"only leaves have `{event.name}`, and this is the result of an operation: torch raises here",
                hint="ask the parameters for it",
            )
        if event.done == "set":
            return Report(
                event.node,
                f"the attribute `{event.name}` of a tensor is read-only: torch raises here",
                hint="make another tensor, as with `detach()`, `to()` or `reshape()`",
            )
        return Report(
            event.node,
            f"the attribute `{event.name}` of a tensor cannot be deleted: torch raises here",
            hint="delete the variable, or use `detach()`",
        )
