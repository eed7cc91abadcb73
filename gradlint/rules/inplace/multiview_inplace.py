"""GRD106: an output of `split`, `chunk`, `unbind`, or of iteration over a tensor is written in place."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "output of a function that returns multiple views"


class MultiviewInplace(Rule):
    """An output of `split`, `chunk`, `unbind`, or of iteration over a tensor is written in place.

    What torch does
        Functions that return several views at once keep no history by which one of them could be
        written. With grad mode on, a write in place to one raises a RuntimeError: "This view is the
        output of a function that returns multiple views. Such functions do not allow the output views
        to be modified inplace." `for row in x` is `unbind`. `tensor_split`, `hsplit` and `vsplit` give
        ordinary views, which may be written.

    Why it matters
        `x[0] += 1` is legal where `first, second = x` and `first += 1` is not, although both write to
        the same memory.

    When it may be wrong
        Where the line is never reached, or something that gradlint does not see switches grad mode off.

    Instead
        Compute out of place (`a = a + 1`), take the parts by index (`x[:2]`), use `torch.tensor_split`,
        or clone the part.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.split.html
        https://docs.pytorch.org/docs/stable/generated/torch.tensor_split.html
        https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    code = "GRD106"
    name = "multiview-inplace"
    effect = "raises"
    events = (
        refusal.MultiViewWrite,
        refusal.UnrebasedView,
    )
    fix = "safe"
    bad = (
        Bad(
            """\
import torch

gates = torch.randn(2, 8, requires_grad=True) * 1
forget, update = gates.chunk(2, dim=1)
forget += 1  # GRD106
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch

gates = torch.randn(2, 8, requires_grad=True) * 1
forget, update = gates.chunk(2, dim=1)
forget = forget + 1
(forget * update).sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A write that torch refuses because its target is one of several views."""
        if isinstance(event, refusal.UnrebasedView):
            if event.kind != "multi":
                return
            yield Report(
                event.node,
                f"{writing(event.op, event.node)} writes to a tensor split into views: torch refuses the views",
                hint="write before the split, to a clone, or take the parts by index",
                related=((event.used, "torch raises here, where such a view is used"),),
            )
            return
        assert isinstance(event, refusal.MultiViewWrite)
        yield Report(
            event.node,
            f"{writing(event.op, event.node)} writes to one of several views made at once: torch raises here",
            hint="compute out of place, clone the part, or take it by index or `torch.tensor_split`",
            related=() if event.viewed is None else ((event.viewed, "the views are made here"),),
            repair=out_of_place(event.node),
        )
