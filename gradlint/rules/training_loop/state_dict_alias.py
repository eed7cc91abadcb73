"""GRD516: the best weights are kept by reference and trained on."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class StateDictAlias(Rule):
    """The best weights are kept by reference and trained on.

    What torch does
        `model.state_dict()` is a dict of the parameters themselves, without their graph: they share
        their memory with the model. Each optimizer step changes what was kept. Loading it back copies
        the current weights onto themselves. `dict(...)`, `.copy()` and `copy.copy` copy the dict, not
        what is in it. Nor is the parameter copied where a list or dict of `parameters()` is kept: what is
        subtracted from it later is itself.

    Why it matters
        After the search for the best epoch the model holds the weights of the last one, and nothing
        says so.

    When it may be wrong
        Where nothing has been trained in between on any run.

    Instead
        `copy.deepcopy(model.state_dict())`, or `{name: value.clone() for name, value in
        model.state_dict().items()}`, or write it to a file at once with `torch.save`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict
        https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "GRD516"
    name = "state-dict-alias"
    effect = "silent"
    events = (fault.StateDictAlias, fault.ParameterMinusItself)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
lowest = float("inf")
for x in torch.randn(10, 8, 4):
    loss = model(x).pow(2).mean()
    if loss.item() < lowest:
        lowest = loss.item()
        best = model.state_dict()  # GRD516
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
last = model.weight.detach().clone()
model.load_state_dict(best)
""",
            shows="torch.equal(model.weight, last)",
        ),
    )
    good = (
        Good(
            """\
import copy

import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best = copy.deepcopy(model.state_dict())
for x in torch.randn(10, 8, 4):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
model.load_state_dict(best)
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the dict where it is taken, and a difference of a parameter with itself where it is computed."""
        if isinstance(event, fault.ParameterMinusItself):
            yield Report(
                event.node,
                "both sides are the same parameter: the difference is zero, and so is its gradient",
                hint="keep the old value as a copy, `p.detach().clone()`",
                related=() if event.parameter is None else ((event.parameter, "both are this parameter"),),
            )
            return
        assert isinstance(event, fault.StateDictAlias)
        node = event.node
        repair = Repair(
            "copy it deeply", (Change(node, f"copy.deepcopy({source(node)})"),), safe=False, imports=("copy",)
        )
        yield Report(
            node,
            "this state dict holds the parameters themselves: each step changes what is kept here",
            hint="keep `copy.deepcopy(...)` of it, or save it to a file at once",
            related=((event.loaded, "this loads what the model is already"),),
            repair=repair if isinstance(node, cst.Call) else None,
        )
