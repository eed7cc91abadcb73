from __future__ import annotations

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import EventRule, Report


class MultiviewInplace(EventRule[refusal.MultiViewWrite | refusal.UnrebasedView]):
    """An output of `split`, `chunk`, `unbind`, or of iteration over a tensor is written in place.

    What torch does
        Functions that return several views at once do not record the history that an in-place write to one of them
        would need. With grad mode on, such a write raises a RuntimeError: "This view is the output of a function that
        returns multiple views. Such functions do not allow the output views to be modified inplace." `for row in x`
        calls `unbind`. `tensor_split`, `hsplit` and `vsplit` return ordinary views, which may be written.

    Why it matters
        `x[0] += 1` is allowed, but `first, second = x` followed by `first += 1` is not, although both
        write to the same memory.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see disables grad mode.

    Instead
        Compute out of place (`a = a + 1`), select the parts by index (`x[:2]`), use
        `torch.tensor_split`, or clone the part.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.split.html
        https://docs.pytorch.org/docs/stable/generated/torch.tensor_split.html
        https://docs.pytorch.org/docs/stable/tensor_view.html
    """

    code = "GRD106"
    name = "multiview-inplace"
    effect = "raises"
    raises = "output of a function that returns multiple views"
    fix = "safe"
    bad = """\
import torch

gates = torch.randn(2, 8, requires_grad=True) * 1
forget, update = gates.chunk(2, dim=1)
forget += 1  # GRD106
"""
    good = """\
import torch

gates = torch.randn(2, 8, requires_grad=True) * 1
forget, update = gates.chunk(2, dim=1)
forget = forget + 1
(forget * update).sum().backward()
"""

    def check(self, event: refusal.MultiViewWrite | refusal.UnrebasedView) -> Report | None:
        """Report a write that torch rejects because its target is one of several views."""
        if isinstance(event, refusal.UnrebasedView):
            if event.kind != "multi":
                return None
            return Report(
                event.node,
                f"{writing(event.op, event.node)} writes to a tensor after it was split into views: torch "
                "raises when a view is used",
                hint="write before the split, write to a clone, or select the parts by index",
                related=((event.used, "torch raises here, where one of the views is used"),),
            )
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes to one of several views made at once: torch raises here",
            hint="compute out of place, clone the part, or select it by index or with `torch.tensor_split`",
            related=((event.viewed, "the views are created here"),),
            repair=out_of_place(event.node),
        )
