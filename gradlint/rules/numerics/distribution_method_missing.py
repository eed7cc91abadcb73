from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class DistributionMethodMissing(EventRule[refusal.DistributionLacks]):
    """A distribution is asked for `rsample()`, `entropy()` or a divergence, which its class does not implement.

    What torch does
        It raises a NotImplementedError without a message. Discrete distributions such as `Categorical` and `Bernoulli`
        have no `rsample`, because their samples are not differentiable in the parameters. `kl_divergence` has formulas
        for some pairs of classes only; for all others it raises "No KL(p || q) is implemented".

    Why it matters
        All distributions have these methods by name, so that nothing shows before the call.

    When it may be wrong
        If the line is never executed.

    Instead
        Draw by `sample()` and use `log_prob(sample)` in the loss, or take a relaxed distribution, such as
        `RelaxedOneHotCategorical` or `RelaxedBernoulli`, or `OneHotCategoricalStraightThrough`. Estimate a divergence
        from a sample of `p`: `p.log_prob(x) - q.log_prob(x)`.

    References
        https://docs.pytorch.org/docs/stable/distributions.html#score-function
        https://docs.pytorch.org/docs/stable/distributions.html#pathwise-derivative
    """

    code = "GRD530"
    name = "distribution-method-missing"
    effect = "raises"
    raises = r"^$|No KL\(p"
    torch_says = ("^$", r"No KL\(p")
    bad = """\
import torch
from torch.distributions import Categorical

logits = torch.zeros(3, requires_grad=True)
action = Categorical(logits=logits).rsample()  # GRD530
"""
    good = """\
import torch
from torch.distributions import Categorical

logits = torch.zeros(3, requires_grad=True)
policy = Categorical(logits=logits)
loss = -policy.log_prob(policy.sample())
loss.backward()
"""
    good_shows = "logits.grad is not None"

    def check(self, event: refusal.DistributionLacks) -> Report | None:
        if event.another:
            return Report(
                event.node,
                f"no divergence of `{event.distribution}` from `{event.another}` is implemented: torch raises here",
                hint="estimate it from a sample of `p`: `p.log_prob(x) - q.log_prob(x)`",
            )
        hint = "use `log_prob(sample)` in the loss, or a relaxed distribution" if event.method == "rsample" else None
        return Report(event.node, f"`{event.distribution}` has no `{event.method}`: torch raises here", hint=hint)
