from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.backward import ComplexRoot, NonscalarRoot
from gradlint.rules.authoring.phrases import sizes, source
from gradlint.rules.base import EventRule, Reduced, Repair, Report


class BackwardNonscalar(EventRule[NonscalarRoot | ComplexRoot]):
    """`backward` or `autograd.grad` starts at a tensor that does not have exactly one element, without a gradient.

    What torch does
        It raises a RuntimeError: "grad can be implicitly created only for scalar outputs". One element
        is enough: shapes `[1]` and `[1, 1]` need no gradient. An empty tensor raises, and so does a
        complex number, even if its imaginary part is zero.

    Why it matters
        torch computes vector-Jacobian products. For a loss the vector is the number one; for anything larger, you must
        pass the weights of its elements. Usually a reduction is missing, or `reduction="none"` was overlooked.

    When it may be wrong
        If the line is never executed. A loss without reduction is taken to have several elements: the
        finding is a warning where the size of the batch is not known.

    Instead
        Reduce the loss with `.mean()` or `.sum()`, or pass the weights of the elements:
        `y.backward(torch.ones_like(y))`. This is equivalent to `y.sum().backward()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD201"
    name = "backward-nonscalar"
    effect = "raises"
    raises = "grad can be implicitly created only for scalar outputs"
    fix = "unsafe"
    torch_says = ("grad can be implicitly created only for real scalar outputs", raises)
    bad = """\
import torch

x = torch.ones(2, 2, requires_grad=True)
loss = (x * 3) ** 2
loss.backward()  # GRD201
"""
    good = """\
import torch

x = torch.ones(2, 2, requires_grad=True)
loss = ((x * 3) ** 2).mean()
loss.backward()
"""
    good_shows = "x.grad is not None"

    def check(self, event: NonscalarRoot | ComplexRoot) -> Report | None:
        """Report a root of several elements, or a complex one."""
        if isinstance(event, ComplexRoot):
            return Report(
                event.node,
                f"`{event.call}` starts at a complex number: torch raises here, because a loss must be real",
                hint="take its `.real` or `.abs()`",
                related=((event.root, "the number is computed here"),),
            )
        shape = sizes(event.shape)
        what = f"a tensor of shape {shape}" if shape else "a tensor of several elements"
        call = "`backward`" if event.call == "backward" else "`autograd.grad`"
        keyword = "gradient" if event.call == "backward" else "grad_outputs"
        return Report(
            event.node,
            f"{call} starts at {what} without `{keyword}`: torch raises here, because a loss must have one element",
            hint=f"reduce it with `.mean()` or `.sum()`, or pass a tensor of the same shape as `{keyword}`",
            related=((event.root, "the tensor is computed here"),),
            repair=_repair(event.node) if event.call == "backward" else None,
        )


def _repair(node: cst.CSTNode) -> Repair | None:
    """Reduce the loss with `sum()`; in `scaler.scale(loss)`, the loss is what other statements read."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    root = loss = node.func.value
    if isinstance(root, cst.Call) and len(root.args) == 1 and source(root.func).endswith(".scale"):
        loss = root.args[0].value
    name = loss.value if isinstance(loss, cst.Name) else None
    return Repair("call `.sum()` first", (Reduced(root, name, "sum"),), safe=False)
