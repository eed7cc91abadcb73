"""GRD517: a model is sent to evaluation and trained on in that mode."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import training_loop as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class TrainModeMissing(Rule):
    """A model is sent to evaluation and trained on in that mode.

    What torch does
        `model.eval()` holds until `model.train()` is called. In evaluation mode dropout lets everything
        pass, and batch norm takes its running statistics and no longer updates them.

    Why it matters
        The first turn trains with dropout and batch statistics, all later ones without: the model
        overfits, and what is measured is not what was meant.

    When it may be wrong
        Where training is meant to go on with frozen statistics after the first evaluation. Layers that
        are sent to evaluation by themselves are not reported.

    Instead
        Call `model.train()` at the start of each training turn, and `model.eval()` at the start of each
        evaluation.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.eval
        https://docs.pytorch.org/docs/stable/notes/autograd.html#evaluation-mode-nn-module-eval
    """

    code = "GRD517"
    name = "train-mode-missing"
    effect = "silent"
    events = (fault.TrainModeMissing,)
    bad = (
        Bad(
            """\
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
""",
            shows="not model.training",
        ),
    )
    good = (
        Good(
            """\
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
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at the `eval()`; the backward shows which iteration runs in evaluation mode."""
        assert isinstance(event, fault.TrainModeMissing)
        yield Report(
            event.node,
            "no `train()` follows before the next training turn: dropout and batch norm stay in evaluation mode",
            hint="call `model.train()` at the start of each training turn",
            related=((event.backward, "the next training turn runs in evaluation mode"),),
        )
