"""GRD208: `requires_grad` of a tensor that is no leaf is set."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Bad, Good, Remove, Repair, Report, Rule, Statement

_RAISES = "you can only change requires_grad flags of leaf variables"


class FlagOnNonleaf(Rule):
    """`requires_grad` of a tensor that is no leaf is set.

    What torch does
        It raises a RuntimeError: "you can only change requires_grad flags of leaf variables." Assigning
        raises for True and False alike; `requires_grad_(False)` raises too, while
        `requires_grad_(True)` on a result that requires grad already is let pass.

    Why it matters
        `loss.requires_grad = True` is a common answer to "element 0 of tensors does not require grad".
        On a loss with a graph it raises; on one whose graph was cut it silences the error, and nothing
        is trained.

    When it may be wrong
        Where the line is never reached.

    Instead
        Leave a loss alone: its flag follows from the parameters. To stop gradients at a result use
        `y.detach()`; to freeze a network set the flag on its parameters: `model.requires_grad_(False)`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD208"
    name = "flag-on-nonleaf"
    effect = "raises"
    events = (refusal.FlagOnNonleaf,)
    fix = "safe"
    torch_says = ("you can only change requires_grad flags of leaf",)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.requires_grad = True  # GRD208
loss.backward()
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A flag that torch refuses to change."""
        assert isinstance(event, refusal.FlagOnNonleaf)
        yield Report(
            event.node,
            f"`{event.spelled}` changes the flag of a tensor that is no leaf: torch raises here",
            hint="use `detach()` to stop gradients here, or set the flag on the leaf; a loss needs no flag",
            related=() if event.made is None else ((event.made, "the result of this operation is no leaf"),),
            repair=_without_flag(event.node),
        )


def _without_flag(node: cst.CSTNode) -> Repair | None:
    """Gradients are stopped by `detach`; a flag on a tensor that has a graph already says nothing, and goes."""
    flag = _flag(node)
    if flag is None:
        return None
    name, wanted = flag
    if wanted == "True":
        return Repair("drop the flag: the tensor requires grad anyway", (Remove(node),))
    return Repair(f"write `{name} = {name}.detach()`", (Statement(node, f"{name} = {name}.detach()"),))


def _flag(node: cst.CSTNode) -> tuple[str, str] | None:
    """The name and the value of `x.requires_grad = value` or `x.requires_grad_(value)`."""
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
