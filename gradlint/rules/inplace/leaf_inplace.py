from __future__ import annotations

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import target, unless_off, writing
from gradlint.rules.authoring.repairs import built_out_of_place, out_of_place, update_under_no_grad
from gradlint.rules.base import EventRule, Repair, Report


class LeafInplace(EventRule[refusal.LeafWrite]):
    """A leaf that requires grad is written in place while grad mode is on.

    What torch does
        It raises a RuntimeError at the write: "a leaf Variable that requires grad is being used in an
        in-place operation." This applies to augmented assignments (`w -= lr * w.grad`), methods with
        a trailing underscore (`w.zero_()`), assignments by a mask or by index tensors, and
        `inplace=True`. Under `torch.no_grad()` the same write is accepted.

    Why it matters
        Gradients are accumulated into leaves, so the value of a leaf must come from the user and not
        from a recorded operation. Manual update steps, initialisation and weight clipping are not
        meant to be part of the graph, and torch requires you to say so.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see, such as a caller's
        decorator, disables grad mode.

    Instead
        Wrap the write in `with torch.no_grad():`, use `torch.nn.init` for initial values, or write to a
        copy (`w.clone()`), through which the gradient flows back to the leaf.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "GRD101"
    name = "leaf-inplace"
    effect = "raises"
    raises = "a leaf Variable that requires grad is being used in an in-place operation"
    torch_says = (raises, "a leaf Variable that requires grad has been used in an in-place operation")
    fix = "safe or unsafe"
    bad = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()
w -= 0.1 * w.grad  # GRD101
"""
    good = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
    w.grad.zero_()
"""
    good_shows = "w.requires_grad and w.is_leaf"

    def check(self, event: refusal.LeafWrite) -> Report | None:
        kind = "parameter" if event.parameter else "leaf"
        quoted = target(event.node)
        what = f"the {kind} `{quoted}`, which" if quoted else f"a {kind} that"
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes in place to {what} requires grad: torch raises here"
            + unless_off(event.may_be_off),
            severity="warning" if event.may_be_off else None,
            hint=_NO_INPLACE if event.op.startswith("nn.") else _NO_GRAD,
            related=((event.made, f"the {kind} is created here"),),
            repair=_repair(event),
        )


def _repair(event: refusal.LeafWrite) -> Repair | None:
    """Write under no_grad, unless the write or its target is part of a computation.

    A tensor that an optimizer updates must stay a leaf.
    """
    node = event.node
    if event.built is not None:
        return built_out_of_place(event.built)
    if event.op.startswith("nn."):
        return out_of_place(node)
    kept = event.parameter or event.held
    elsewhere = out_of_place(node, safe=False) if event.tracked and not kept else None
    return elsewhere or update_under_no_grad(node)


_NO_GRAD = "wrap the write in `with torch.no_grad():`, or write to a copy: `.clone()`"
_NO_INPLACE = "remove `inplace=True`, or write to a copy: `.clone()`"
