"""What a program computes and does not use: gradients, graphs and networks; beside what looks alike and is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

HEAD = """\
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 3))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
"""
TWICE = """\
for x in torch.randn(6, 16, 4):
    x.requires_grad_()
    h = net[0](x)
    {before}
    h.logsumexp(1).sum().backward()
    {between}
    optimizer.zero_grad()
    net(x).logsumexp(1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("before", "between", "codes"),
    [
        ("pass", "pass", {"GRD519"}),
        ("pass", "shift = x.grad.sign()", set()),
        ("pass", "norms = [p.grad.norm() for p in net[0].parameters()]", set()),
        ("pass", "optimizer.step()", set()),
        ("h.register_hook(lambda gradient: None)", "pass", set()),
    ],
)
def test_backwards_whose_gradients_are_dropped(before: str, between: str, codes: set[str], tmp_path: Path) -> None:
    """A program that looks at any gradient has used the backward."""
    found = watched(HEAD + TWICE.format(before=before, between=between), tmp_path)
    assert {code for code, _ in codes_at(found)} == codes and found.complaints == []


LOSSES = """\
column = nn.Linear(4, 1)
optimizer.add_param_group({{"params": column.parameters()}})
for x in torch.randn(6, 16, 4):
    y, labels = x.sum(1), (x[:, 0] > 0).long()
    s, scores = column(x), net(x)
    loss = scores.logsumexp(1).mean() + s.pow(2).mean() + {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(
    ("loss", "codes"),
    [
        ("(s - y).pow(2).mean()", {"GRD702"}),
        ("(y - s.tanh()).abs().mean()", {"GRD702"}),
        ("(s.squeeze(1) - y).pow(2).mean()", set()),
        ("(s - y[:, None]).pow(2).mean()", set()),
        ("(s - s.squeeze(1)).pow(2).mean()", set()),
        ("F.softplus(s - y).mean()", set()),
        ("F.nll_loss(F.log_softmax(scores, dim=0), labels)", {"GRD701"}),
        ("F.nll_loss(F.log_softmax(scores, dim=0)[x[:, 1] > 0], labels[x[:, 1] > 0])", {"GRD701"}),
        ("F.nll_loss(F.log_softmax(scores, dim=-1), labels)", set()),
        ("F.nll_loss(F.log_softmax(scores[:3], dim=0), torch.arange(3))", set()),
    ],
)
def test_operands_of_losses(loss: str, codes: set[str], tmp_path: Path) -> None:
    """All pairs are compared on purpose where both sides are computed, and as many rows as classes may be pairs."""
    found = watched(HEAD + LOSSES.format(loss=loss), tmp_path)
    assert {code for code, _ in codes_at(found)} == codes and found.complaints == []


EVALUATES = """\
def train():
    {train}
    for x in torch.randn(4, 16, 4):
        optimizer.zero_grad()
        net(x).logsumexp(1).mean().backward()
        optimizer.step()
        {each}

def evaluate():
    {evaluate}
    with torch.no_grad():
        return F.cross_entropy(net(torch.randn(16, 4)), torch.zeros(16, dtype=torch.long)).item()

for epoch in range(4):
    train()
    epoch in (0, 2) and evaluate()
"""


@pytest.mark.parametrize(
    ("train", "each", "evaluate", "codes"),
    [
        ("net.train()", "pass", "pass", {"GRD522"}),
        ("pass", "pass", "pass", {"GRD522"}),
        ("net.train()", "pass", "net.eval()", set()),
        ("pass", "pass", "net.train()", set()),
        ("pass", "evaluate()", "pass", set()),
    ],
)
def test_losses_of_an_evaluation(train: str, each: str, evaluate: str, codes: set[str], tmp_path: Path) -> None:
    """One after each step may be meant for the training, and who calls `train()` before it has meant the mode."""
    found = watched(HEAD + EVALUATES.format(train=train, each=each, evaluate=evaluate), tmp_path)
    assert {code for code, _ in codes_at(found)} == codes and found.complaints == []


CARRIED = """\
cell = nn.GRUCell(4, 4)
optimizer.add_param_group({{"params": cell.parameters()}})
for x in torch.randn(4, 16, 4):
    loss = net(cell(x)).logsumexp(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
h, total = torch.zeros(16, 4), 0.0
for x in torch.randn(12, 16, 4):
    h = cell(x, {state})
    total += h.mean().item()
{after}
"""


@pytest.mark.parametrize(
    ("state", "after", "codes"),
    [
        ("h", "", {"GRD512"}),
        ("h.detach()", "", set()),
        ("h", "optimizer.zero_grad()\nh.sum().backward()\noptimizer.step()", set()),
    ],
)
def test_a_state_that_is_carried_through_an_evaluation(state: str, after: str, codes: set[str], tmp_path: Path) -> None:
    """It keeps all graphs, unless a backward uses them in the end."""
    found = watched(HEAD + CARRIED.format(state=state, after=after), tmp_path)
    assert {code for code, _ in codes_at(found)} == codes and found.complaints == []


NEVER_CALLED = """\
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)
        self.scales = nn.ParameterDict({{"one": nn.Parameter(torch.ones(3))}})

    def scores(self, x):
        return self.body(x) * self.scales["one"]

scaled = Scaled()
other = torch.optim.SGD({parameters}, lr=0.1)
for x in torch.randn(6, 16, 4):
    other.zero_grad()
    scaled.scores(x).logsumexp(1).mean().backward()
    other.step()
"""


def test_parameters_of_a_module_that_is_never_called(tmp_path: Path) -> None:
    """Only its parts are; its own parameters are looked for all the same."""
    wrong = NEVER_CALLED.format(parameters="scaled.body.parameters()")
    assert {code for code, _ in codes_at(watched(HEAD + wrong, tmp_path))} == {"GRD608"}
    right = NEVER_CALLED.format(parameters="scaled.parameters()")
    assert watched(HEAD + right, tmp_path).findings == ()


YOUNGEST = """\
actor, critic = nn.Linear(4, 2), nn.Linear(6, 1)
first = torch.optim.SGD(actor.parameters(), lr=0.1)
second = torch.optim.SGD(critic.parameters(), lr=0.1)
state = torch.randn(8, 4)
for step in range(6):
    with torch.no_grad():
        action = actor(state)
        state = (state + action.sum(1, keepdim=True)).tanh()
    second.zero_grad()
    critic(torch.cat([state, action], 1)).pow(2).mean().backward()
    second.step()
    first.zero_grad()
    critic(torch.cat([state, actor(state){cut}], 1)).pow(2).mean().backward()
    first.step()
    critic.zero_grad()
"""


def test_the_youngest_cut_is_to_blame(tmp_path: Path) -> None:
    """A state that older values have led to hangs on no graph, too."""
    assert watched(HEAD + YOUNGEST.format(cut=""), tmp_path).findings == ()
    found = codes_at(watched(HEAD + YOUNGEST.format(cut=".detach()"), tmp_path))
    assert ("GRD309", 20) in found and not any(code == "GRD307" for code, _ in found)
