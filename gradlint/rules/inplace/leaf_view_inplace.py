from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.arguments import keyword_of
from gradlint.rules.authoring.phrases import unless_off, writing
from gradlint.rules.authoring.repairs import update_under_no_grad, without_argument
from gradlint.rules.base import EventRule, Repair, Report


class LeafViewInplace(EventRule[refusal.LeafViewWrite]):
    """A part of a leaf that requires grad is written in place while grad mode is on.

    What torch does
        It raises a RuntimeError at the write: "a view of a leaf Variable that requires grad is being used in an
        in-place operation." `b[0] = x` writes to the view `b[0]`; so do `b[0] += x`, `b[:, 1].zero_()`, and writes to
        the result of `view`, `t`, `narrow`, `squeeze` and similar methods. Old versions of torch raised only at the
        backward ("leaf variable has been moved into the graph interior").

    Why it matters
        This is a common mistake with a buffer for results: `requires_grad=True` in `torch.zeros(n, requires_grad=True)`
        looks necessary for a gradient, but it prevents writing to the buffer. A buffer that does not require grad
        becomes part of the graph when a tracked value is written into it.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see disables grad mode.

    Instead
        Build the tensor from its parts with `torch.stack` or `torch.cat`, or create the buffer without
        `requires_grad`. For initial values, write under `torch.no_grad()`.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
        https://docs.pytorch.org/docs/stable/tensor_view.html
        https://docs.pytorch.org/docs/stable/generated/torch.stack.html
    """

    code = "GRD102"
    name = "leaf-view-inplace"
    effect = "raises"
    raises = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    fix = "safe or unsafe"
    bad = """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.zeros(3, 2, requires_grad=True)
b[0] = a * 2  # GRD102
b.sum().backward()
"""
    good = """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.zeros(3, 2)
b[0] = a * 2
b.sum().backward()
"""
    good_shows = "a.grad.tolist() == [2, 2]"

    def check(self, event: refusal.LeafViewWrite) -> Report | None:
        kind = "parameter" if event.parameter else "leaf"
        viewed = None if event.viewed is event.node else event.viewed
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes in place to a view of a {kind} that requires grad:"
            f" torch raises here{unless_off(event.may_be_off)}",
            severity="warning" if event.may_be_off else None,
            hint=_FOR_PARAMETER if event.parameter else _FOR_BUFFER,
            related=((event.made, f"the {kind} is created here"), (viewed, "this is a view of it")),
            repair=update_under_no_grad(event.node) if event.parameter else _joining(event),
        )


def _joining(event: refusal.LeafViewWrite) -> Repair | None:
    """Create the buffer without `requires_grad`, if the values written to it have a graph."""
    made = event.made
    if not event.tracked or not isinstance(made, cst.Call):
        return None
    flag = keyword_of(made, "requires_grad")
    return None if flag is None else without_argument(made, "requires_grad")


_FOR_PARAMETER = "wrap the write in `with torch.no_grad():`"
_FOR_BUFFER = (
    "build it from its parts with `torch.cat` or `torch.stack`, or create the buffer without `requires_grad`:"
    " it becomes part of the graph when it is written"
)
