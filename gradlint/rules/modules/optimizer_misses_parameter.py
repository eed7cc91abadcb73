from __future__ import annotations

from gradlint.domain.fault import optimizers as fault
from gradlint.rules.base import EventRule, Report


class OptimizerMissesParameter(EventRule[fault.OptimizerMisses]):
    """No optimizer has a parameter that the loss should train.

    What torch does
        An optimizer updates the tensors that it was created with, and those added by `add_param_group`. A layer that is
        replaced or added later is a different object, and a consumed iterator yields nothing. Backward fills the
        gradients of all parameters, whether they are in an optimizer or not.

    Why it matters
        The layer silently keeps its random initial weights. The loss still falls, because the other layers are trained.

    When it may be wrong
        If a fixed random network is intentional. Networks that are frozen, loaded, copied, set to evaluation mode,
        partly in an optimizer, or passed to code that gradlint does not see are not reported.

    Instead
        Complete the model before you create the optimizer. Pass everything that should be trained:
        `[*model.parameters(), *criterion.parameters()]`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.add_param_group.html
    """

    code = "GRD608"
    name = "optimizer-misses-parameter"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # GRD608
model[2] = nn.Linear(4, 2)
before = model[2].bias.clone()
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
"""
    bad_shows = "model[2].bias.grad is not None and torch.equal(before, model[2].bias)"
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))
model[2] = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model[2].bias.clone()
model(torch.ones(1, 4)).sum().backward()
optimizer.step()
"""
    good_shows = "not torch.equal(before, model[2].bias)"

    def check(self, event: fault.OptimizerMisses) -> Report | None:
        """Report where the optimizer is created.

        A fixed random network may be intentional, and is a warning; a layer that the optimizer misses is not.
        """
        if isinstance(event, fault.ParameterTooLate):
            return Report(
                event.node,
                "the model gets parameters after this optimizer is created: they are never trained",
                hint="create the optimizer last, or call `add_param_group`",
                related=(
                    (event.made, "this parameter is created after the optimizer"),
                    (event.step, "the optimizer does not update it here"),
                ),
                severity="error",
            )
        if isinstance(event, fault.ParameterUnfrozen):
            return Report(
                event.node,
                "this parameter gets gradients from here on, and no optimizer holds it: it is never trained",
                hint="call `add_param_group`, or create the optimizer again",
                related=((event.optimizer, "the parameter was frozen when this optimizer was created"),),
                severity="warning",
            )
        if isinstance(event, fault.LeafReplaced):
            return Report(
                event.node,
                "this is a new tensor, and the optimizer holds the one it is computed from: it is never trained",
                hint="write to the tensor that the optimizer holds, under `torch.no_grad()`: `clamp_`, `copy_`",
                related=((event.held, "the optimizer holds this tensor"),),
                severity="warning",
            )
        if isinstance(event, fault.IteratorUsedUp):
            return Report(
                event.node,
                "this group is given an iterator that has been consumed: the optimizer trains none of its parameters",
                hint="call `parameters()` again, or keep `list(model.parameters())`",
                severity="error",
            )
        what, whose, gives = "parameter", "it is", "a gradient"
        hint = "pass it to an optimizer, in a list or in its own group"
        if isinstance(event, fault.NetworkForgotten):
            what, whose, gives = "network", "its random weights are", "gradients"
            hint = "pass its `parameters()` to an optimizer, or freeze it with `requires_grad_(False)`"
        assert isinstance(event, (fault.NetworkForgotten, fault.ParameterForgotten))
        return Report(
            event.node,
            f"this loss depends on a {what} that is in no optimizer: {whose} never trained",
            hint=hint,
            related=((event.made, f"the {what} is made here"), (event.backward, f"this backward gives it {gives}")),
            severity="warning",
        )
