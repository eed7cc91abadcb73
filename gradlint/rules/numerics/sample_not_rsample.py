"""GRD404: `sample()` stands where a gradient should flow through the sample."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class SampleNotRsample(Rule):
    """`sample()` stands where a gradient should flow through the sample.

    What torch does
        `Distribution.sample()` draws under `no_grad`. A loss of the sample alone raises in backward:
        "element 0 of tensors does not require grad and does not have a grad_fn"; if other things in it
        have a graph, the parameters of the distribution get no gradient through the sample, without a
        word. `rsample()` draws the same numbers from the parameters by a formula, and the gradient
        follows it.

    Why it matters
        A variational autoencoder with `sample()` trains its decoder on noise from an encoder that
        learns nothing of the reconstruction; an actor behind a critic does not move.

    When it may be wrong
        Where the score function is wanted: `log_prob(sample)` times a reward, as in REINFORCE. A sample
        whose `log_prob` is in the loss is not reported. Where the distribution is trained by another part
        of the loss, such as a divergence, the finding is a warning: a sequence model may feed samples
        back on purpose.

    Instead
        Write `rsample()`. Distributions without one (categorical ones, Bernoulli) have relaxed
        relatives such as `RelaxedOneHotCategorical`, or need the score function.

    References
        https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative
        https://docs.pytorch.org/docs/stable/distributions.html#score-function
    """

    code = "GRD404"
    name = "sample-not-rsample"
    effect = "silent"
    events = (LostLeaf,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch
from torch import nn
from torch.distributions import Normal

policy = nn.Linear(4, 1)
action = Normal(policy(torch.randn(8, 4)), 1.0).sample()  # GRD404
loss = (action - 1).pow(2).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.distributions import Normal

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.randn(8, 4)
z = Normal(encoder(x), 1.0).sample()  # GRD404
loss = (decoder(z) - x).pow(2).mean()
loss.backward()
""",
            shows="grad_is_none(encoder.weight) and decoder.weight.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.distributions import Normal

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.randn(8, 4)
mean = encoder(x)
z = Normal(mean, 1.0).sample()  # GRD404
loss = (decoder(z) - x).pow(2).mean() + mean.pow(2).mean()
loss.backward()
""",
            shows="torch.autograd.grad(decoder(z).sum(), mean, allow_unused=True) == (None,)",
        ),
        Bad(
            """\
import torch
from torch import nn

mean, bias = nn.Parameter(torch.zeros(3)), nn.Parameter(torch.ones(3))
normal = torch.distributions.Normal(mean, torch.ones(3))
z = normal.sample((5,))  # GRD404
(z - bias).pow(2).mean().backward()
""",
            shows="grad_is_none(mean)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn
from torch.distributions import Normal

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.randn(8, 4)
z = Normal(encoder(x), 1.0).rsample()
(decoder(z) - x).pow(2).mean().backward()
""",
            shows="encoder.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn
from torch.distributions import Normal

policy = nn.Linear(4, 1)
choice = Normal(policy(torch.randn(8, 4)), 1.0)
action = choice.sample()
reward = -(action - 1).abs()
(-choice.log_prob(action) * reward).mean().backward()
""",
            shows="policy.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

mean = nn.Parameter(torch.zeros(3))
z = torch.distributions.Normal(mean, 1.0).rsample((5,))
z.pow(2).mean().backward()
""",
            shows="mean.grad.any()",
        ),
        Good(
            """\
import torch

scores = torch.zeros(3, requires_grad=True)
policy = torch.distributions.Categorical(logits=scores)
action = policy.sample()
(-policy.log_prob(action) * 2.0).backward()
""",
            shows="scores.grad.any()",
        ),
        Good(
            """\
import torch

mean = torch.zeros(3, requires_grad=True)
with torch.no_grad():
    z = torch.distributions.Normal(mean, 1.0).sample()
print(z.mean())
""",
            shows="mean.grad is None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A sample on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "sample":
            return
        hint = "write `rsample()`, or a loss with `log_prob(sample)`"
        said = report(event, "no gradient flows through `sample`", hint, _repair(event))
        # Another part of the loss trains the distribution: a sample may be fed back on purpose.
        yield replace(said, severity="warning") if event.term else said


def _repair(event: LostLeaf) -> Repair | None:
    call = event.node
    if event.op != "sample" or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    # The same random numbers are drawn, so the values stay what they are.
    return Repair("use `rsample`", (Change(call.func.attr, "rsample"),))
