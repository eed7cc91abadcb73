from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Repair, Report


class IntegerRequiresGrad(EventRule[refusal.IntegerRequiresGrad]):
    """A tensor of integers or bools is made to require grad.

    What torch does
        It raises a RuntimeError: "Only Tensors of floating point and complex dtype can require
        gradients". `torch.tensor([1, 2])` and `torch.arange(3)` contain integers, and `nn.Parameter`
        sets `requires_grad=True` by default.

    Why it matters
        A missing decimal point is enough: `torch.tensor([1, 2], requires_grad=True)`.

    When it may be wrong
        If the line is never executed.

    Instead
        Write floating-point numbers (`torch.tensor([1.0, 2.0])`), pass `dtype=torch.float`, or keep
        integer parameters out of autograd: `nn.Parameter(t, requires_grad=False)`, or a buffer.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/tensor_attributes.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    code = "GRD209"
    name = "integer-requires-grad"
    effect = "raises"
    raises = "nly Tensors of floating point (and complex )?dtype can require gradients"
    fix = "safe"
    bad = """\
import torch

x = torch.tensor([1, 2, 3], requires_grad=True)  # GRD209
"""
    good = """\
import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
x.sum().backward()
"""

    def check(self, event: refusal.IntegerRequiresGrad) -> Report | None:
        kind = f"a tensor of dtype {event.dtype}" if event.dtype else "a tensor of integers"
        return Report(
            event.node,
            f"{kind} cannot require grad: torch raises here",
            hint="use floating-point numbers (`1.0`, `dtype=torch.float`), or remove `requires_grad`",
            repair=_as_float(event.node),
        )


def _as_float(node: cst.CSTNode) -> Repair | None:
    """Pass a floating-point dtype to a factory; a tensor from elsewhere is not changed."""
    keywords = [arg.keyword.value for arg in node.args if arg.keyword] if isinstance(node, cst.Call) else []
    if "requires_grad" not in keywords:
        return None
    return with_argument(node, "dtype=torch.float32", safe=True, imports=("torch",))
