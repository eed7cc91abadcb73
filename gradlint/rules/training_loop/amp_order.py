from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.fault import training_loop as fault
from gradlint.domain.refusal import training_loop as refusal
from gradlint.rules.base import EventRule, Report

_HINT = "call in this order: `scale`, `backward`, `unscale_` (if you clip), `scaler.step`, `scaler.update`"
_RAISES = {
    "unscaled twice": "`unscale_` is called twice before `update`",
    "unscaled after step": "`unscale_` is called after `step` and before `update`",
    "stepped twice": "`step` is called twice before `update`",
    "updated first": "`update` is called before `step` and `unscale_`",
    "half": "gradients of parameters in half precision cannot be unscaled",
}


_Event: TypeAlias = refusal.ScalerOutOfOrder | fault.SteppedScaled | fault.UnscaledWithoutScale | fault.EngineBypassed


class AmpOrder(EventRule[_Event]):
    """The methods of a GradScaler are called in the wrong order, or the `backward` of an engine is not called.

    What torch does
        It raises if `step` or `unscale_` is called twice before `update`, if `unscale_` is called after `step`, and if
        `update` is called without either of them, or if a parameter is in half precision. It is silent if the optimizer
        steps directly on gradients of a scaled loss, which are 65536 times too large (after `unscale_` they are right,
        but a step on infinite ones is not skipped), or if the scaler steps on gradients of a loss that was not scaled.

        An `Accelerator` and a `Fabric` have such a scaler inside: `accelerator.backward(loss)` scales the loss, and
        divides it by the number of iterations that are accumulated. `loss.backward()` does neither.

    Why it matters
        Whether gradients are scaled depends only on the order of these calls.

    When it may be wrong
        If the scaler is disabled (`enabled=False`). Then it accepts any order. Beside an engine that neither scales nor
        accumulates, `loss.backward()` does the same as the engine's `backward` until it is configured otherwise.

    Instead
        Call `scaler.scale(loss).backward()`, then `scaler.unscale_(optimizer)` if you read or clip
        gradients, then `scaler.step(optimizer)`, then `scaler.update()`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/amp_examples.html
    """

    code = "GRD505"
    name = "amp-order"
    effect = "raises"
    raises = "step\\(\\) has already been called since the last update"
    torch_says = (
        "Attempted unscale_ but _scale is None",
        "No inf checks were recorded",
        r"step\(\) has already been called since the last update",
        r"unscale_\(\) has already been called",
        r"unscale_\(\) is being called after step",
        "Attempting to unscale FP16 gradients",
    )
    bad = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(2):
    optimizer.zero_grad()
    scaler.scale(model(torch.randn(4, 3)).pow(2).mean()).backward()
    scaler.step(optimizer)  # GRD505
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
for step in range(2):
    optimizer.zero_grad()
    scaler.scale(model(torch.randn(4, 3)).pow(2).mean()).backward()
    scaler.step(optimizer)
    scaler.update()
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: _Event) -> Report | None:
        """Report at the call of the scaler or the optimizer."""
        if isinstance(event, refusal.ScalerOutOfOrder):
            hint = (
                "keep the parameters in float32, and run the forward under `autocast`"
                if event.kind == "half"
                else _HINT
            )
            return Report(event.node, f"{_RAISES[event.kind]}: torch raises here", hint=hint)
        if isinstance(event, fault.EngineBypassed):
            return Report(
                event.node,
                "the loss is neither scaled nor divided: this goes past the `backward` of what prepared the network",
                hint="pass the loss to `accelerator.backward(loss)` or `fabric.backward(loss)`",
                related=((event.prepared, "the network was prepared here"),),
                effect="fragile",
            )
        what = "this unscales gradients that were never scaled: torch raises, or the step is far too small"
        why = "the loss of this backward is not scaled"
        if isinstance(event, fault.SteppedScaled):
            what = "this step uses gradients that are still scaled: call `scaler.step(optimizer)`"
            if event.unscaled is not False:
                what = "this step goes past the scaler and takes infinite gradients, too: call `scaler.step(optimizer)`"
            why = "this is the backward of a scaled loss"
        return Report(event.node, what, hint=_HINT, related=((event.backward, why),), effect="silent")
