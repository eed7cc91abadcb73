"""GRD608: an optimizer does not hold a parameter that it should train."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import optimizers as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class OptimizerMissesParameter(Rule):
    """An optimizer does not hold a parameter that it should train.

    What torch does
        An optimizer trains the tensors that it was given when it was made, and those added by
        `add_param_group`. A layer that is replaced or added later is another object; an iterator that
        has been used up gives none. Gradients arrive at parameters outside all the same.

    Why it matters
        The layer keeps its random first weights. The loss still falls, because the rest learns around
        it, and nothing says a word.

    When it may be wrong
        Where a random network is wanted as it is. Networks that are frozen, loaded, copied, put to
        evaluation, partly held by an optimizer, or given to something that gradlint does not see are
        not reported.

    Instead
        Finish the model, then make the optimizer. Give it all that is to be trained:
        `[*model.parameters(), *criterion.parameters()]`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
    """

    code = "GRD608"
    name = "optimizer-misses-parameter"
    effect = "silent"
    events = (fault.OptimizerMisses,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # GRD608
model[2] = nn.Linear(4, 2)
before = model[2].bias.clone()
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
""",
            shows="model[2].bias.grad is not None and torch.equal(before, model[2].bias)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
model[2] = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model[2].bias.clone()
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
""",
            shows="not torch.equal(before, model[2].bias)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report where the optimizer is made.

        That a network stays as it was drawn may be meant, and is a warning; that a layer was forgotten is not.
        """
        if isinstance(event, fault.ParameterTooLate):
            yield Report(
                event.node,
                "parameters that the model got after this optimizer was made are not in it: they are never trained",
                hint="make the optimizer last, or call `add_param_group`",
                related=(
                    (event.made, "this parameter came after the optimizer"),
                    (event.step, "it is not among these"),
                ),
                severity="error",
            )
        elif isinstance(event, fault.NetworkForgotten):
            yield Report(
                event.node,
                "a network that this loss trains is in no optimizer: its weights stay as they were drawn",
                hint="give its `parameters()` to an optimizer, or freeze it with `requires_grad_(False)`",
                related=(
                    (event.made, "the network is made here"),
                    (event.backward, "this backward gives it gradients"),
                ),
                severity="warning",
            )
        elif isinstance(event, fault.ParameterForgotten):
            yield Report(
                event.node,
                "a parameter that this loss trains is in no optimizer: it stays as it is",
                hint="give it to an optimizer, in a list or in a group of its own",
                related=(
                    (event.made, "the parameter is made here"),
                    (event.backward, "this backward gives it a gradient"),
                ),
                severity="warning",
            )
        else:
            assert isinstance(event, fault.IteratorUsedUp)
            yield Report(
                event.node,
                "this group is given an iterator that has been used up: the optimizer trains nothing of it",
                hint="call `parameters()` anew, or keep `list(model.parameters())`",
                severity="error",
            )
