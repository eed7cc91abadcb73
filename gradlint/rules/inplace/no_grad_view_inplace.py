"""GRD108: a view made under `no_grad` is written in place with grad mode on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "A view was created in no_grad mode and is being modified inplace with grad mode enabled"


class NoGradViewInplace(Rule):
    """A view made under `no_grad` is written in place with grad mode on.

    What torch does
        It raises a RuntimeError: "A view was created in no_grad mode and is being modified inplace with
        grad mode enabled." It does so if the view's base requires grad, or what is written does. A view
        of plain data may be written with plain values.

    Why it matters
        The view says `requires_grad=True` and has no `grad_fn`: torch cannot tell whether the write is
        to be recorded or not, and refuses to guess.

    When it may be wrong
        Where the line is never reached, or grad mode is switched off around it by something that
        gradlint does not see.

    Instead
        Take the view and write to it in the same mode: both inside the `no_grad` block if the write is
        not to be recorded, both outside if it is.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD108"
    name = "no-grad-view-inplace"
    effect = "raises"
    events = (
        refusal.NoGradViewWrite,
        refusal.UnrebasedView,
    )
    torch_says = ("(A view was|a view which was) created in no_grad mode",)
    bad = (
        Bad(
            """\
import torch
from torch import nn

table = nn.Embedding(10, 4)
with torch.no_grad():
    padding = table.weight[0]
padding.zero_()  # GRD108
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

table = nn.Embedding(10, 4)
with torch.no_grad():
    padding = table.weight[0]
    padding.zero_()
""",
            shows="not table.weight[0].any()",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A write that torch refuses because its target is a view from another mode."""
        assert isinstance(event, (refusal.NoGradViewWrite, refusal.UnrebasedView))
        writer = writing(event.op, event.node)
        if isinstance(event, refusal.UnrebasedView):
            if event.kind != "no_grad":
                return
            yield Report(
                event.node,
                f"{writer} writes to the base of a view made under `no_grad`: torch refuses the view",
                hint="take the view in the same grad mode, or after the write",
                related=((event.used, "torch raises here, where the view is used"),),
            )
            return
        yield Report(
            event.node,
            f"{writer} writes, with grad mode on, to a view made under `no_grad`: torch raises here",
            hint="take the view and write to it in the same grad mode",
            related=() if event.viewed is None else ((event.viewed, "the view is taken here"),),
        )
