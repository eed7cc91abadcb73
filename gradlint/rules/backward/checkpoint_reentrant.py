from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Report


class CheckpointReentrant(EventRule[refusal.CheckpointReentrant]):
    """A backward needs what a reentrant checkpoint does not support.

    What torch does
        `checkpoint(f, x, use_reentrant=True)` runs the function again in backward, and a nested backward
        through it. It raises a RuntimeError if only some gradients are requested, by `autograd.grad` or
        `backward(inputs=...)`, and if nothing in the function requires grad: "none of output has
        requires_grad=True, this checkpoint() is not necessary".

    Why it matters
        Gradient penalties, saliency maps and per-layer gradients use `autograd.grad`, and raise as soon
        as the network is checkpointed to save memory.

    When it may be wrong
        If the line is never executed.

    Instead
        Pass `use_reentrant=False`, which torch recommends and which has none of these limits.

    References
        https://docs.pytorch.org/docs/stable/checkpoint.html
    """

    code = "GRD227"
    name = "checkpoint-reentrant"
    effect = "raises"
    raises = "incompatible with .grad"
    fix = "safe"
    torch_says = ("incompatible with .grad", "none of output has requires_grad=True")
    bad = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=True)
(gradient,) = torch.autograd.grad(y.sum(), x)  # GRD227
"""
    good = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=False)
(gradient,) = torch.autograd.grad(y.sum(), x)
"""
    good_shows = "gradient.shape == (2, 3)"

    def check(self, event: refusal.CheckpointReentrant) -> Report | None:
        """Report a backward through a reentrant checkpoint; the other kind does not help if nothing requires grad."""
        constant = event.reason == "constant"
        what = "computes only some gradients, which a reentrant checkpoint does not support"
        if constant:
            what = "runs through a reentrant checkpoint in which nothing requires grad"
        return Report(
            event.node,
            f"this backward {what}: torch raises here",
            hint=None if constant else "pass `use_reentrant=False` to `checkpoint`",
            related=((event.checkpoint, "the checkpoint is here"),),
            repair=None if constant else with_argument(event.checkpoint, "use_reentrant=False", safe=True),
        )
