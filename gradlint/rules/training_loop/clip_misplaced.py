"""GRD504: gradients are clipped where there are none, or where clipping comes too late."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import Bad, Good, Report, Rule

_NOTHING = {
    "non-leaf": "what is no leaf has no gradient to clip",
    "used-up iterator": "the iterator of parameters has been used up",
    "no gradient": "there are no gradients yet: no backward has filled them",
}


class ClipMisplaced(Rule):
    """Gradients are clipped where there are none, or where clipping comes too late.

    What torch does
        `clip_grad_norm_` looks at `.grad` as it is when it is called. Before the backward there is nothing
        to clip, behind the step it is too late, before `scaler.unscale_` the gradients are some ten
        thousand times too large, so that clipping shrinks them to nothing; and a loss, which is no leaf,
        has no gradient at all. torch says nothing.

    Why it matters
        The bound that should keep the training stable is not there, or holds for other numbers than one
        thinks.

    When it may be wrong
        Where the norm is wanted for a log only; a bound of `inf` is not reported.

    Instead
        Between `backward` (with a scaler: `scaler.unscale_(optimizer)`) and the step.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD504"
    name = "clip-misplaced"
    effect = "fragile"
    events = (fault.NothingClipped, fault.ClippedAfterStep, fault.ClippedScaled)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.full((4, 3), 100.0)).pow(2).mean()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # GRD504
    loss.backward()
    optimizer.step()
""",
            shows="model.weight.grad.norm() > 1 or model.weight.isnan().any()",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.full((4, 3), 100.0)).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
""",
            shows="model.weight.grad.norm() < 1.1",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at the call that clips."""
        reason, related = _reason(event)
        yield Report(
            event.node,
            f"this clips nothing that matters: {reason}",
            hint="clip between the backward and the step; with a scaler behind `unscale_`",
            related=related,
        )


def _reason(event: Event) -> tuple[str, tuple[tuple[cst.CSTNode, str], ...]]:
    """Why clipping has no effect here, and the place that explains it."""
    if isinstance(event, fault.NothingClipped):
        return _NOTHING[event.kind], ()
    if isinstance(event, fault.ClippedAfterStep):
        return "the step is over", ((event.step, "this step has used the gradients as they were"),)
    assert isinstance(event, fault.ClippedScaled)
    return "the gradients are still scaled", ((event.backward, "this is the backward of a scaled loss"),)
