from __future__ import annotations

from gradlint.domain.fault.numerics import ZeroGradient as Fault
from gradlint.rules.base import EventRule, Report


class ZeroGradient(EventRule[Fault]):
    """The gradient of a parameter is zero in every step of a run.

    What torch does
        Backward runs through the whole graph, and multiplies by zero on the way: by the derivative of a `relu` of
        negative values, by a mask, or by a weight that is zero. `.grad` is filled, with zeros.

    Why it matters
        The step leaves the parameter as it is. Nothing raises, and no `.grad` is None.

    When it may be wrong
        In a run that is too short, or on data that reach only a part of the model. `gradlint run` reports a parameter
        only if at least five steps have found nothing but zeros.

    Instead
        Look at what the operation is given: at the initial values of the layer before it, at the learning rate that
        has pushed them below zero, at the mask.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
    """

    code = "GRD409"
    name = "zero-gradient"
    effect = "fragile"
    run_only = True
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
nn.init.constant_(model.bias, -100.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.rand(6, 8, 4):
    optimizer.zero_grad()
    loss = (model(x).relu() - 1).pow(2).mean()  # GRD409
    loss.backward()
    optimizer.step()
"""
    bad_shows = "not model.weight.grad.any()"
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.rand(6, 8, 4):
    optimizer.zero_grad()
    loss = (nn.functional.softplus(model(x)) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    good_shows = "model.weight.grad.any()"

    def check(self, event: Fault) -> Report | None:
        """Report the operation; the parameter is where the zeros arrive."""
        name = f" `{event.name}`" if event.name else ""
        return Report(
            event.node,
            f"the gradient is zero after `{event.op}`: a parameter gets nothing but zeros in {event.steps} steps",
            hint="look at the values that this operation is given: they may all lie where its slope is zero",
            related=((event.leaf, f"this parameter{name} gets them"),),
        )
