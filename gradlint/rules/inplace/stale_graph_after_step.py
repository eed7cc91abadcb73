"""GRD104: an optimizer steps between the forward and the backward of a graph that uses its parameters."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal.backward import StaleSaved
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "modified by an inplace operation"


class StaleGraphAfterStep(Rule):
    """An optimizer steps between the forward and the backward of a graph that uses its parameters.

    What torch does
        A step writes to every parameter that has a gradient, in place. A graph built before it has
        saved the old parameters (a linear layer saves its weight for the gradient of its input), and
        its backward raises a RuntimeError: "one of the variables needed for gradient computation has
        been modified by an inplace operation". The first layer's weight is not needed where its input
        requires no gradient, so that a net of one layer may run through.

    Why it matters
        Two networks that share a forward are the usual case: the discriminator's step between the
        generator's forward and backward, the critic's between the policy's. No operation in place is in
        sight, and the message names none. `retain_graph=True`, which is often tried, does not help.

    When it may be wrong
        Where the step does not run on the way to that backward.

    Instead
        Run all backwards first and step afterwards, or compute the second loss behind the step, with a
        forward of its own. Feed the discriminator `fake.detach()` in its own loss.

    References
        https://docs.pytorch.org/docs/stable/optim.html#taking-an-optimization-step
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
    """

    code = "GRD104"
    name = "stale-graph-after-step"
    effect = "raises"
    events = (StaleSaved,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

generator, critic = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters())
opt_c = torch.optim.Adam(critic.parameters())
fake = generator(torch.randn(8, 4))
score = critic(fake)
critic_loss, generator_loss = score.mean(), -score.mean()
critic_loss.backward(retain_graph=True)
opt_c.step()  # GRD104
generator_loss.backward()  # raises
opt_g.step()
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first, second = model(torch.randn(3, 4)).pow(2).sum(dim=0)
for loss in (first, second):
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # raises
    optimizer.step()  # GRD104
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

generator, critic = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt_g = torch.optim.Adam(generator.parameters())
opt_c = torch.optim.Adam(critic.parameters())
fake = generator(torch.randn(8, 4))
critic(fake.detach()).mean().backward()
opt_c.step()
generator_loss = -critic(fake).mean()
generator_loss.backward()
opt_g.step()
""",
            shows="generator.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
first, second = model(torch.randn(3, 4)).pow(2).sum(dim=0)
first.backward(retain_graph=True)
second.backward()
optimizer.step()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report a write by an optimizer: the step is to blame, the backward comes too late."""
        assert isinstance(event, StaleSaved)
        if event.by != "optimizer.step":
            return
        saver = operation(event.saver_op, event.saver)
        yield Report(
            event.node,
            "this step changes parameters that an earlier graph still needs: torch raises at its backward",
            hint="run both backwards before the step, or compute the second loss after it",
            related=(
                (event.saver, f"{saver} saves them here"),
                (event.backward, "this backward comes too late"),
            ),
        )
