from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import EventRule, Report


class LossUnderNoGrad(EventRule[LostLeaf]):
    """A part of the loss that should be trained is computed with grad mode disabled.

    What torch does
        Under `torch.no_grad()` and `torch.inference_mode()` nothing is recorded. A loss that was computed
        there raises in backward: "element 0 of tensors does not require grad and does not have a grad_fn".
        If only a part was computed there, the layers of that part and those before it silently get no
        gradient. `torch.utils.checkpoint.checkpoint` also runs its function under `no_grad`, unless it is
        called with `use_reentrant=False`: if none of its arguments requires grad, torch warns once and
        nothing inside the function is trained.

    Why it matters
        Often a decorator or a block that is meant for evaluation also covers the training.

    When it may be wrong
        If the block freezes a part on purpose. Parameters of such a part need not be passed to an
        optimizer: only those that are, or whose graph was recorded and then cut, are reported.

    Instead
        Compute the loss outside the block, and pass `use_reentrant=False` to `checkpoint`. To freeze a layer and train
        the layers before it, set `requires_grad` of its parameters to False instead of disabling grad mode.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD307"
    name = "loss-under-no-grad"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad():  # GRD307
    loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()  # raises
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
with torch.no_grad():
    validation = model(torch.randn(8, 4)).pow(2).mean()
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        """Report disabled grad mode on the only path to a leaf."""
        if event.kind not in ("no_grad", "checkpoint"):
            return None
        if event.kind == "checkpoint":
            hint = "pass `use_reentrant=False`: otherwise an argument must require grad"
            return report(event, "no argument requires grad, so the checkpoint records no graph", hint)
        hint = "compute this with grad mode enabled; to freeze a layer, call `requires_grad_(False)` on it"
        return report(event, "grad mode is disabled here, where a part of the loss is computed", hint)
