from __future__ import annotations

from gradlint.domain.fault import functions as fault
from gradlint.domain.refusal.functions import DirtyNotReturned, DirtyView
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import EventRule, Report


class MarkDirtyMissing(EventRule[fault.MarkDirtyMissing | DirtyNotReturned | DirtyView]):
    """A custom function writes to an input in place without `ctx.mark_dirty`, or marks what it does not return.

    What torch does
        An input that was written but not marked keeps its old history. A later use of it is differentiated as if
        nothing had been written, and the gradient is silently wrong. A write to a leaf is accepted too. An input that
        is marked must be returned, or the call raises a RuntimeError: "Some elements marked as dirty during the forward
        method were not returned as output". A function that marks a view must have one result only: "If your Function
        modifies inplace an input that is a view of another Tensor, your Function cannot return more than one Tensor".

    Why it matters
        torch detects a write in `forward` only through `mark_dirty`, because grad mode is disabled there.

    When it may be wrong
        If the input is never used again.

    Instead
        Write to a copy, or call `ctx.mark_dirty(x)` and return `x`.

    References
        https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
        https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.Function
    """

    code = "GRD625"
    name = "mark-dirty-missing"
    effect = "fragile"
    fix = "unsafe"
    torch_says = ("marked as dirty during the forward method were not returned", "cannot return more than one Tensor")
    bad = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.mul_(2)  # GRD625
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


def loss_of(w):
    h = w * 1
    return (Double.apply(h) + h).sum()


w = torch.ones(3, requires_grad=True)
loss_of(w).backward()
"""
    bad_shows = "differs_from_finite_differences(lambda: loss_of(w), w)"
    good = """\
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * 2


w = torch.ones(3, requires_grad=True)
h = w * 1
(Double.apply(h) + h).sum().backward()
"""
    good_shows = "w.grad.sum() == 12"

    def check(self, event: fault.MarkDirtyMissing | DirtyNotReturned | DirtyView) -> Report | None:
        """Report the write, or the mark that torch refuses."""
        if isinstance(event, DirtyView):
            return Report(
                event.node,
                "a function with several results marks this view dirty: torch raises here",
                hint="write to a copy, or pass a clone of the view",
                related=((event.marks, "it is marked here"), (event.made, "the view is made here")),
                effect="raises",
            )
        refused = isinstance(event, DirtyNotReturned)
        return Report(
            event.node,
            _NOT_RETURNED if refused else _NOT_MARKED,
            hint="write to a copy, or call `ctx.mark_dirty` and return the input",
            repair=None if refused else out_of_place(event.node, safe=False),
            effect="raises" if refused else None,
        )


_NOT_MARKED = "`forward` writes to an input in place and does not mark it dirty: gradients may be wrong"
_NOT_RETURNED = "an input is marked dirty but not returned: torch raises at `apply`"
