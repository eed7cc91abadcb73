from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report

_NOTHING = {
    "non-leaf": "what is no leaf has no gradient to clip",
    "used-up iterator": "the iterator of parameters has been used up",
    "no gradient": "there are no gradients yet: no backward has filled them",
}

_Event: TypeAlias = fault.NothingClipped | fault.ClippedAfterStep | fault.ClippedScaled


class ClipMisplaced(EventRule[_Event]):
    """Gradients are clipped before they exist, after the step, or while they are scaled.

    What torch does
        `clip_grad_norm_` clips `.grad` as it is at the time of the call. Before the backward there is
        nothing to clip, and after the step it is too late. Before `scaler.unscale_` the gradients are
        about 65536 times too large, so clipping reduces them to almost zero. A loss is not a leaf and has
        no gradient at all. torch is silent in all of these cases.

    Why it matters
        The bound that should stabilise the training has no effect, or applies to the wrong values.

    When it may be wrong
        If the norm is only logged. A bound of `inf` is not reported.

    Instead
        Clip between `backward` and the step, and with a scaler after `scaler.unscale_(optimizer)`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD504"
    name = "clip-misplaced"
    effect = "fragile"
    bad = """\
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
"""
    bad_shows = "model.weight.grad.norm() > 1 or model.weight.isnan().any()"
    good = """\
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
"""
    good_shows = "model.weight.grad.norm() < 1.1"

    def check(self, event: _Event) -> Report | None:
        """Report at the call that clips."""
        reason, place, said = _reason(event)
        return Report(
            event.node,
            f"this clips nothing that matters: {reason}",
            hint="clip between the backward and the step; with a scaler behind `unscale_`",
            related=((place, said),),
        )


def _reason(event: _Event) -> tuple[str, cst.CSTNode | None, str]:
    """Return why clipping has no effect here, and the place that explains it."""
    if isinstance(event, fault.NothingClipped):
        return _NOTHING[event.kind], None, ""
    if isinstance(event, fault.ClippedAfterStep):
        return "the step is over", event.step, "this step has used the gradients as they were"
    return "the gradients are still scaled", event.backward, "this is the backward of a scaled loss"
