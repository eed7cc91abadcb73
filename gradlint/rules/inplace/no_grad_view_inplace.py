from __future__ import annotations

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.base import EventRule, Report


class NoGradViewInplace(EventRule[refusal.NoGradViewWrite | refusal.UnrebasedView]):
    """A view made under `no_grad` is written in place with grad mode on.

    What torch does
        It raises a RuntimeError: "A view was created in no_grad mode and is being modified inplace with
        grad mode enabled." It does so if the view's base or the written value requires grad. Writing
        values without grad to a view of a tensor without grad is accepted.

    Why it matters
        The view has `requires_grad=True` but no `grad_fn`, so torch cannot tell whether the write should be recorded.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see disables grad mode around it.

    Instead
        Create the view and write to it in the same grad mode: both inside the `no_grad` block if the
        write should not be recorded, both outside if it should.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD108"
    name = "no-grad-view-inplace"
    effect = "raises"
    raises = "A view was created in no_grad mode and is being modified inplace with grad mode enabled"
    torch_says = ("(A view was|a view which was) created in no_grad mode",)
    bad = """\
import torch
from torch import nn

table = nn.Embedding(10, 4)
with torch.no_grad():
    padding = table.weight[0]
padding.zero_()  # GRD108
"""
    good = """\
import torch
from torch import nn

table = nn.Embedding(10, 4)
with torch.no_grad():
    padding = table.weight[0]
    padding.zero_()
"""
    good_shows = "not table.weight[0].any()"

    def check(self, event: refusal.NoGradViewWrite | refusal.UnrebasedView) -> Report | None:
        """Report a write that torch rejects because its target is a view created in another grad mode."""
        writer = writing(event.op, event.node)
        if isinstance(event, refusal.UnrebasedView):
            if event.kind != "no_grad":
                return None
            return Report(
                event.node,
                f"{writer} writes to the base of a view made under `no_grad`: torch raises when the view is used",
                hint="create the view in the same grad mode, or after the write",
                related=((event.used, "torch raises here, where the view is used"),),
            )
        return Report(
            event.node,
            f"{writer} writes, with grad mode on, to a view made under `no_grad`: torch raises here",
            hint="create the view and write to it in the same grad mode",
            related=((event.viewed, "the view is created here"),),
        )
