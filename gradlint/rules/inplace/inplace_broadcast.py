from __future__ import annotations

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import sizes, writing
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import EventRule, Report


class InplaceBroadcast(EventRule[refusal.InplaceBroadcast]):
    """A tensor is written in place with values of a larger shape.

    What torch does
        Out of place, torch expands either operand to the broadcast shape. In place it can only expand
        the values: the tensor that is written keeps its shape. If the broadcast shape is larger, torch
        raises a RuntimeError: "output with shape [5] doesn't match the broadcast shape [3, 5]". The
        number of dimensions counts too: a tensor of shape `[]` does not accept values of shape `[1]`.
        An index assignment ignores leading dimensions of size one and rejects anything else.

    Why it matters
        `total = total + x` and `total += x` are not the same: the first silently lets `total` grow.
        Usually the sum starts with the wrong shape, or a reduction over the batch is missing.

    When it may be wrong
        If the line is never executed. Unknown sizes are never reported.

    Instead
        Reduce the values first (`total += loss.sum()`), start from the shape of the result
        (`torch.zeros_like(x)`), or write `total = total + x` if it may grow.

    References
        https://docs.pytorch.org/docs/stable/notes/broadcasting.html#in-place-semantics
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
    """

    code = "GRD116"
    name = "inplace-broadcast"
    effect = "raises"
    raises = "doesn't match the broadcast shape"
    fix = "unsafe"
    torch_says = ("doesn't match the broadcast shape", r"expand\(", "shape mismatch", "Bad in-place call")
    bad = """\
import torch

total = torch.zeros(5)
total += torch.ones(3, 5)  # GRD116
"""
    good = """\
import torch

total = torch.zeros(5)
total = total + torch.ones(3, 5)
"""
    good_shows = "total.shape == (3, 5)"

    def check(self, event: refusal.InplaceBroadcast) -> Report | None:
        """Report values that cannot be broadcast to the target. Out of place, the result has the larger shape."""
        held, wanted = sizes(event.shape), sizes(event.wanted)
        part = "a part" if event.op == "index assignment" else "a tensor"
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes values of shape {wanted} to {part} of shape {held}: "
            "torch raises here",
            hint="reduce the values, start from the larger shape, or compute out of place",
            related=((event.made, "the tensor is created here"),),
            repair=out_of_place(event.node, safe=False),
        )
