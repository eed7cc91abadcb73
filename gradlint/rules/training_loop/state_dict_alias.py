from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class StateDictAlias(EventRule[fault.StateDictAlias | fault.ParameterMinusItself]):
    """Weights are stored by reference, and later training changes them.

    What torch does
        `model.state_dict()` returns detached tensors that share their memory with the parameters of the model. Each
        optimizer step changes the stored tensors. Loading them back copies the current weights to themselves.
        `dict(...)`, `.copy()` and `copy.copy` copy the dict but not its tensors. A list or dict of `parameters()` does
        not copy the parameters either, so a later difference of the stored and the current parameter is zero.

    Why it matters
        The program intends to restore the weights of the best epoch, but silently keeps those of the last one.

    When it may be wrong
        If nothing is ever trained between storing and loading.

    Instead
        Write `copy.deepcopy(model.state_dict())` or `{name: value.clone() for name, value in
        model.state_dict().items()}`, or save it to a file immediately with `torch.save`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.state_dict
        https://docs.pytorch.org/tutorials/beginner/saving_loading_models.html
    """

    code = "GRD516"
    name = "state-dict-alias"
    effect = "silent"
    fix = "unsafe"
    bad = """\
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
"""
    bad_shows = "torch.equal(model.weight, last)"
    good = """\
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
"""

    def check(self, event: fault.StateDictAlias | fault.ParameterMinusItself) -> Report | None:
        """Report the line that stores the dict, or the one that subtracts a parameter from itself."""
        if isinstance(event, fault.ParameterMinusItself):
            return Report(
                event.node,
                "both sides are the same parameter: the difference is zero, and so is its gradient",
                hint="store a copy of the old value: `p.detach().clone()`",
                related=((event.parameter, "both sides are this parameter"),),
            )
        node = event.node
        copied = (Change(node, f"copy.deepcopy({source(node)})"),)
        return Report(
            node,
            "this state dict shares memory with the parameters: each optimizer step changes it",
            hint="store `copy.deepcopy(...)` of it, or save it to a file immediately",
            related=((event.loaded, "this loads the current weights, not the stored ones"),),
            repair=Repair("use `copy.deepcopy`", copied, False, ("copy",)) if isinstance(node, cst.Call) else None,
        )
