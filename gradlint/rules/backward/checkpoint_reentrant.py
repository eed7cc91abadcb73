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
        Bad(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)


def features(x):
    return layer(x).detach()


x = torch.randn(2, 3, requires_grad=True)
checkpoint(features, x, use_reentrant=True).sum().backward()  # GRD227
""",
            error="none of output has requires_grad=True",
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

body, head = nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(2, 3, requires_grad=True)
loss = head(checkpoint(body, x, use_reentrant=True)).sum()
loss.backward(inputs=[x, *head.parameters()])  # GRD227
""",
            error="incompatible with .grad",
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.utils import checkpoint as cp


class Block(nn.Module):
    def __init__(self, cheap):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        self.cheap = cheap

    def forward(self, x):
        return cp.checkpoint(self.net, x, use_reentrant=True) if self.cheap else self.net(x)


block = Block(cheap=True)
x = torch.randn(2, 3, requires_grad=True)
score = block(x).mean()
slope = torch.autograd.grad(outputs=score, inputs=[x], create_graph=True)[0]  # GRD227
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
        Good(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=True)
y.sum().backward()
""",
            shows="layer.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn
from torch.utils import checkpoint as cp


class Block(nn.Module):
    def __init__(self, cheap):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 3))
        self.cheap = cheap

    def forward(self, x):
        return cp.checkpoint(self.net, x, use_reentrant=False) if self.cheap else self.net(x)


block = Block(cheap=True)
x = torch.randn(2, 3, requires_grad=True)
slope = torch.autograd.grad(block(x).mean(), x, create_graph=True)[0]
slope.pow(2).sum().backward()
""",
            shows="block.net[0].weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint_sequential

body = nn.Linear(3, 3)
net = nn.Sequential(body, nn.Tanh(), nn.Linear(3, 1))
x = torch.randn(2, 3, requires_grad=True)
checkpoint_sequential(net, 2, x, use_reentrant=True).sum().backward()
""",
            shows="body.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

body, head = nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(2, 3, requires_grad=True)
loss = head(checkpoint(body, x, use_reentrant=True)).sum()
loss.backward(inputs=list(head.parameters()))
""",
            shows="head.weight.grad is not None",
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
