from __future__ import annotations

from dataclasses import replace

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import Change, EventRule, Repair, Report


class SampleNotRsample(EventRule[LostLeaf]):
    """`sample()` is used where a gradient should flow through the sample.

    What torch does
        `Distribution.sample()` draws under `no_grad`. A loss computed only from the sample raises in backward: "element
        0 of tensors does not require grad and does not have a grad_fn"; if other parts of the loss have a graph, the
        parameters of the distribution silently get no gradient through the sample. `rsample()` computes the same
        numbers from the parameters with differentiable operations.

    Why it matters
        In a variational autoencoder with `sample()`, the encoder learns nothing from the
        reconstruction. An actor whose action is a `sample()` passed to the critic is not trained.

    When it may be wrong
        If the score function is used: `log_prob(sample)` times a reward, as in REINFORCE. A sample whose `log_prob` is
        in the loss is not reported. If another part of the loss trains the distribution, such as a divergence, the
        finding is a warning, because a sequence model may feed samples back on purpose.

    Instead
        Write `rsample()`. Distributions without `rsample` (categorical ones, Bernoulli) have
        relaxed variants such as `RelaxedOneHotCategorical`, or need the score function.

    References
        https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative
        https://docs.pytorch.org/docs/stable/distributions.html#score-function
    """

    code = "GRD404"
    name = "sample-not-rsample"
    effect = "silent"
    fix = "safe"
    torch_says = ("element 0 of tensors does not require grad",)
    bad = """\
import torch
from torch import nn
from torch.distributions import Normal

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.randn(8, 4)
z = Normal(encoder(x), 1.0).sample()  # GRD404
loss = (decoder(z) - x).pow(2).mean()
loss.backward()
"""
    bad_shows = "grad_is_none(encoder.weight) and decoder.weight.grad is not None"
    good = """\
import torch
from torch import nn
from torch.distributions import Normal

encoder, decoder = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.randn(8, 4)
z = Normal(encoder(x), 1.0).rsample()
(decoder(z) - x).pow(2).mean().backward()
"""
    good_shows = "encoder.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "sample":
            return None
        hint = "write `rsample()`, or use `log_prob(sample)` in the loss"
        said = report(event, "no gradient flows through `sample`", hint, _repair(event))
        # Another part of the loss trains the distribution: a sample may be fed back on purpose.
        return replace(said, severity="warning") if event.term else said


def _repair(event: LostLeaf) -> Repair | None:
    call = event.node
    if event.op != "sample" or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return None
    # The same random numbers are drawn, so the values stay what they are.
    return Repair("use `rsample`", (Change(call.func.attr, "rsample"),))
