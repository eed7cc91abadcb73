"""GRD227: a backward asks of a reentrant checkpoint what it cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import Bad, Good, Repair, Report, Rule


class CheckpointReentrant(Rule):
    """A backward asks of a reentrant checkpoint what it cannot do.

    What torch does
        `checkpoint(f, x, use_reentrant=True)` runs the function again in backward, and a whole backward of
        its own with it. It raises a RuntimeError where only some gradients are asked for, by `autograd.grad`
        or `backward(inputs=...)`, and where nothing in the function requires grad: "none of output has
        requires_grad=True, this checkpoint() is not necessary".

    Why it matters
        Gradient penalties, saliency maps and per-layer gradients use `autograd.grad`, and fail as soon as
        a network is checkpointed to save memory.

    When it may be wrong
        Where the line is never reached.

    Instead
        `use_reentrant=False`, which torch recommends: it has none of these limits.

    References
        https://docs.pytorch.org/docs/stable/checkpoint.html
    """

    code = "GRD227"
    name = "checkpoint-reentrant"
    effect = "raises"
    fix = "safe"
    events = (refusal.CheckpointReentrant,)
    torch_says = ("incompatible with .grad", "none of output has requires_grad=True")
    bad = (
        Bad(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=True)
(gradient,) = torch.autograd.grad(y.sum(), x)  # GRD227
""",
            error="incompatible with .grad",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=False)
(gradient,) = torch.autograd.grad(y.sum(), x)
""",
            shows="gradient.shape == (2, 3)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A backward that meets a reentrant checkpoint."""
        assert isinstance(event, refusal.CheckpointReentrant)
        what = "is asked for some gradients only, which a reentrant checkpoint cannot give"
        if event.reason == "constant":
            what = "comes to a reentrant checkpoint in which nothing requires grad"
        yield Report(
            event.node,
            f"this backward {what}: torch raises here",
            hint="say `use_reentrant=False` where the checkpoint is" if event.reason != "constant" else None,
            related=((event.checkpoint, "the checkpoint is here"),),
            repair=_repair(event),
        )


def _repair(event: refusal.CheckpointReentrant) -> Repair | None:
    """A checkpoint of the other kind, which computes the same; where nothing requires grad, that is no help."""
    if event.reason == "constant":
        return None
    return with_argument(event.checkpoint, "use_reentrant=False", safe=True)
