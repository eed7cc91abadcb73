"""GRD116: a tensor is written in place with values of a larger shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import sizes, writing
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import Bad, Good, Repair, Report, Rule

_RAISES = "doesn't match the broadcast shape"


class InplaceBroadcast(Rule):
    """A tensor is written in place with values of a larger shape.

    What torch does
        Out of place, the smaller side of an operation is repeated, whichever it is. In place only the
        values can be: what is written keeps its shape. Where both meet in a larger one, torch raises a
        RuntimeError: "output with shape [5] doesn't match the broadcast shape [3, 5]". One element more
        is enough: a tensor of shape `[]` takes nothing of shape `[1]`. An index assignment lets go of
        leading dimensions of size one, and refuses the rest.

    Why it matters
        `total = total + x` and `total += x` are not the same: the first lets `total` grow without a
        word. Mostly the sum starts with the wrong shape, or a reduction over the batch was forgotten.

    When it may be wrong
        Where the line is never reached. Sizes that gradlint does not know are never reported.

    Instead
        Reduce the values first (`total += loss.sum()`), begin with the shape of the result
        (`torch.zeros_like(x)`), or write `total = total + x` where it may grow.

    References
        https://docs.pytorch.org/docs/stable/notes/broadcasting.html#in-place-semantics
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
    """

    code = "GRD116"
    name = "inplace-broadcast"
    effect = "raises"
    events = (refusal.InplaceBroadcast,)
    fix = "unsafe"
    torch_says = ("doesn't match the broadcast shape", r"expand\(", "shape mismatch", "Bad in-place call")
    bad = (
        Bad(
            """\
import torch

total = torch.zeros(5)
total += torch.ones(3, 5)  # GRD116
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch

total = torch.zeros(5)
total = total + torch.ones(3, 5)
""",
            shows="total.shape == (3, 5)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Values that do not fit for certain."""
        assert isinstance(event, refusal.InplaceBroadcast)
        held, wanted = sizes(event.shape), sizes(event.wanted)
        part = "a part" if event.op == "index assignment" else "a tensor"
        yield Report(
            event.node,
            f"{writing(event.op, event.node)} writes values of shape {wanted} to {part} of shape {held}: torch raises",
            hint="reduce the values, begin with the larger shape, or write it out of place",
            related=() if event.made is None else ((event.made, "the tensor was made here"),),
            repair=_repair(event.node),
        )


def _repair(node: cst.CSTNode) -> Repair | None:
    """The sum may grow out of place; whether it should, nobody but its author knows."""
    repair = out_of_place(node)
    return None if repair is None else replace(repair, safe=False)
