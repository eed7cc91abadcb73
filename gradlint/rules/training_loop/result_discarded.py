from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class ResultDiscarded(EventRule[fault.ResultDiscarded]):
    """A statement computes a tensor by an operation that changes nothing, and does nothing with it.

    What torch does
        `x.clamp(-1, 1)` returns a new tensor and leaves `x` as it is; only operations whose names end in an underscore
        write to their input. `x.to(device)` of a tensor returns a copy, too: only modules are moved in place.

    Why it matters
        Python and torch are both silent. A gradient is not clipped, a mask is not applied, a tensor stays where it was.

    When it may be wrong
        If the statement is there to measure its time, or to warm up a device. Operations that are more than a view, a
        move, or the twin of one that torch has in place are not reported, nor are those that a notebook would show.

    Instead
        Assign the result, `x = x.clamp(-1, 1)`, or write `x.clamp_(-1, 1)`.

    References
        https://docs.pytorch.org/docs/stable/tensors.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.to.html
    """

    code = "GRD521"
    name = "result-discarded"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
(100 * model(torch.ones(8, 4))).mean().backward()
for p in model.parameters():
    p.grad.clamp(-1, 1)  # GRD521
"""
    bad_shows = "bool((model.weight.grad > 99).all())"
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
(100 * model(torch.ones(8, 4))).mean().backward()
for p in model.parameters():
    p.grad.clamp_(-1, 1)
"""
    good_shows = "bool((model.weight.grad == 1).all())"

    def check(self, event: fault.ResultDiscarded) -> Report | None:
        return Report(
            event.node,
            f"the result of `{event.name}` is discarded: the operation changes nothing by itself",
            hint="assign the result" + (f", or write `{event.name}_`" if event.alike else ""),
        )
