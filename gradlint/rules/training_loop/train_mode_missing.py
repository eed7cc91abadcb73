from __future__ import annotations

from gradlint.domain.fault import training_loop as fault
from gradlint.domain.finding import Severity
from gradlint.rules.base import EventRule, Report


class TrainModeMissing(EventRule[fault.TrainModeMissing]):
    """A model is set to evaluation mode and then trained in that mode.

    What torch does
        `model.eval()` is in effect until `model.train()` is called. In evaluation mode dropout is
        inactive, and batch norm uses its running statistics and does not update them.

    Why it matters
        Only the first epoch trains with dropout and batch statistics. Later epochs train without
        them, so the model overfits.

    When it may be wrong
        If training should continue with frozen statistics after the first evaluation. Single layers
        that are set to evaluation mode are not reported.

    Instead
        Call `model.train()` at the start of each training epoch, and `model.eval()` at the start of each evaluation.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
        https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "GRD517"
    name = "train-mode-missing"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x in torch.randn(5, 8, 4):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    model.eval()  # GRD517
    with torch.no_grad():
        print(model(torch.randn(8, 4)).pow(2).mean())
"""
    bad_shows = "not model.training"
    good = """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for x in torch.randn(5, 8, 4):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        print(model(torch.randn(8, 4)).pow(2).mean())
"""

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows: a part of the network may be sent back to training elsewhere."""
        return "warning"

    def check(self, event: fault.TrainModeMissing) -> Report | None:
        """Report at the `eval()`; the backward shows which iteration runs in evaluation mode."""
        before = () if event.trained is None else ((event.trained, "`train()` is called here, before"),)
        return Report(
            event.node,
            "`train()` is not called before the next training iteration: dropout and batch norm stay in "
            "evaluation mode",
            hint="call `model.train()` at the start of each training epoch",
            related=((event.backward, "the next training iteration runs in evaluation mode"), *before),
        )
