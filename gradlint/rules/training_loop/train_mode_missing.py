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
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.norm, self.head = nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.norm(self.body(x)).relu())


def evaluate(net):
    net.eval()  # GRD517
    with torch.no_grad():
        return net(torch.randn(8, 4)).mean().item()


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net.train()
for epoch in range(10):
    loss = net(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    evaluate(net)
""",
            shows="net.norm.num_batches_tracked.item() == 1",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 1), nn.Dropout())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    for x in torch.randn(4, 4, 2):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    model.eval()  # GRD517
    with torch.no_grad():
        model(torch.ones(1, 2))
""",
            shows="not model.training",
        ),
        Bad(
            """\
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters())

    def fit(self, batches):
        for x in batches:
            self.optimizer.zero_grad()
            self.net(x).pow(2).mean().backward()
            self.optimizer.step()

    def validate(self, x):
        self.net.train(False)  # GRD517
        with torch.no_grad():
            return self.net(x).mean().item()


trainer = Trainer()
for epoch in range(3):
    trainer.fit(torch.randn(5, 8, 2))
    trainer.validate(torch.randn(8, 2))
""",
            shows="trainer.net[1].num_batches_tracked.item() == 5",
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
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
    model[1].eval()
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
for epoch in range(3):
    model(torch.randn(8, 4)).pow(2).mean().backward()
    model.eval()
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(2, 1), nn.Dropout())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    model.train()
    for x in torch.randn(4, 4, 2):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.ones(1, 2))
""",
            shows="not model.training",
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
