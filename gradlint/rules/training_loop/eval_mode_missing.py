from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import EventRule, Report


class EvalModeMissing(EventRule[fault.EvalModeMissing]):
    """A network is evaluated while it is in training mode.

    What torch does
        A module is in training mode until `model.eval()` is called. In training mode dropout sets values to zero, and
        batch norm normalises by the batch at hand and updates its running statistics. `torch.no_grad()` changes
        neither.

    Why it matters
        The outputs are noisy and depend on what else is in the batch, and the scores are too low. Batch norm learns
        the statistics of the test data.

    When it may be wrong
        If dropout in evaluation is intentional, or the loop computes new statistics for batch norm. A network that is
        sent to training mode between the last step and the evaluation is not reported.

    Instead
        Call `model.eval()` before the evaluation, and `model.train()` before training goes on.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
        https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "GRD522"
    name = "eval-mode-missing"
    effect = "silent"
    bad = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in DataLoader(torch.randn(32, 4), batch_size=8):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()

outputs = []
with torch.no_grad():
    for x in DataLoader(torch.ones(16, 4), batch_size=8):
        outputs.append(model(x))  # GRD522
"""
    bad_shows = "not torch.equal(outputs[0], outputs[1])"
    good = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5), nn.Linear(64, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for x in DataLoader(torch.randn(32, 4), batch_size=8):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()

outputs = []
model.eval()
with torch.no_grad():
    for x in DataLoader(torch.ones(16, 4), batch_size=8):
        outputs.append(model(x))
"""
    good_shows = "torch.equal(outputs[0], outputs[1])"

    def check(self, event: fault.EvalModeMissing) -> Report | None:
        if event.measured:
            return Report(
                event.node,
                "no backward follows this loss, which is computed in training mode: dropout and batch norm are active",
                hint="call `eval()` of the network before it, if it is an evaluation, and `train()` afterwards",
                severity="warning",
            )
        return Report(
            event.node,
            "this evaluation runs in training mode: dropout and batch norm behave as in training",
            hint="call `eval()` of the network before it, and `train()` before training goes on",
            related=((event.loop, "this loop evaluates"),),
        )
