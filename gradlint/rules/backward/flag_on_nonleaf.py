from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import EventRule, Remove, Repair, Report, Statement


class FlagOnNonleaf(EventRule[refusal.FlagOnNonleaf]):
    """`requires_grad` is set on a tensor that is not a leaf.

    What torch does
        It raises a RuntimeError: "you can only change requires_grad flags of leaf variables." Assigning
        raises for True and False alike. `requires_grad_(False)` raises too, but `requires_grad_(True)`
        on a result that already requires grad is accepted.

    Why it matters
        `loss.requires_grad = True` is a common answer to "element 0 of tensors does not require grad". On a loss with a
        graph it raises. On a loss whose graph was cut it hides the error, and nothing is trained.

    When it may be wrong
        If the line is never executed.

    Instead
        Do not set the flag on a loss: it follows from the parameters. To stop gradients at a result, use `y.detach()`.
        To freeze a network, set the flag on its parameters: `model.requires_grad_(False)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD208"
    name = "flag-on-nonleaf"
    effect = "raises"
    raises = "you can only change requires_grad flags of leaf variables"
    fix = "safe"
    torch_says = ("you can only change requires_grad flags of leaf",)
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.requires_grad = True  # GRD208
loss.backward()
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
"""

    def check(self, event: refusal.FlagOnNonleaf) -> Report | None:
        return Report(
            event.node,
            f"`{event.spelled}` changes the flag of a tensor that is not a leaf: torch raises here",
            hint="use `.detach()` to stop gradients here, or set the flag on the leaf; do not set it on a loss",
            related=((event.made, "this operation computes the tensor"),),
            repair=_without_flag(event.node),
        )


def _without_flag(node: cst.CSTNode) -> Repair | None:
    """Replace False by `detach`, and remove True, which has no effect on a tensor with a graph."""
    flag = _flag(node)
    if flag is None:
        return None
    name, wanted = flag
    if wanted == "True":
        return Repair("remove the flag: the tensor already requires grad", (Remove(node),))
    return Repair(f"write `{name} = {name}.detach()`", (Statement(node, f"{name} = {name}.detach()"),))


def _flag(node: cst.CSTNode) -> tuple[str, str] | None:
    """Return the name and the value of `x.requires_grad = value` or `x.requires_grad_(value)`."""
    target: cst.BaseExpression
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target, value = node.targets[0].target, code(node.value)
    elif isinstance(node, cst.Call) and len(node.args) == 1:
        target, value = node.func, code(node.args[0].value)
    else:
        return None
    if isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name) and value in ("True", "False"):
        return target.value.value, value
    return None
