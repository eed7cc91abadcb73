"""What is kept between samples and at the end, and what looks like it: by lists, layers, averages and state dicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.concrete.activations import Activations
from gradlint.concrete.alive import Alive
from gradlint.concrete.places import Places
from gradlint.concrete.schedule import Schedule
from gradlint.concrete.watching import Watch
from tests.concrete.running import codes_at, watched

LOOP = """\
import torch

class Log:
    def __init__(self):
        self.rows = {{"loss": []}}
    def add(self, loss):
        self.rows["loss"].append(loss)

class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(8))
    def run(self, x):
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return x

torch.manual_seed(0)
net, log = Stack(), Log()
{before}
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(280):
    loss = net.run(torch.randn(4, 3)).pow(2).mean()
    {extra}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""


@pytest.mark.parametrize(
    ("before", "extra", "after", "found"),
    [
        ("net.run(torch.randn(4, 3))", "pass", "pass", set()),
        ("pass", "pass", "log.add(loss)", {("GRD510", 7)}),
        ("pass", "pass", "step > 5 and log.add(loss)", {("GRD510", 7)}),
        ("pass", "pass", "log.add(loss.detach())", set()),
        ("kept = list(net.parameters())", "loss = loss + sum((p - k).sum() for p, k in zip(net.parameters(), kept))",
         "pass", {("GRD516", 24)}),
        ("mean = net", "pass",
         "with torch.no_grad():\n        for a, b in zip(mean.parameters(), net.parameters()): a.lerp_(b, 0.1)",
         {("GRD609", 20)}),
        ("mean = torch.optim.swa_utils.AveragedModel(net)", "pass", "mean.update_parameters(mean.module)",
         {("GRD609", 28)}),
        ("mean = torch.optim.swa_utils.AveragedModel(net)", "pass",
         "step < 100 or mean.update_parameters(mean.module)", {("GRD609", 28)}),
        ("mean = torch.optim.swa_utils.AveragedModel(net)", "pass", "step < 100 or mean.update_parameters(net)", set()),
        ("pass", "pass",
         "with torch.no_grad():\n        for a, b in zip(net.parameters(), net.parameters()): a.copy_(a + 0.1 * b)",
         set()),
        ("pass", "pass",
         "with torch.no_grad():\n        for a, b in zip(net.parameters(), net.parameters()): a.data.lerp_(b.data, .1)",
         {("GRD609", 29)}),
        ("pass", "pass", "log.last = [*getattr(log, 'last', [])[-50:], loss]", {("GRD510", 28)}),
        ("pass", "pass", "log.last = vars(log).get('last', ()) + (loss,)", {("GRD510", 28)}),
        ("pass", "pass", "log.last = [*getattr(log, 'last', [])[-50:], loss.item()]", set()),
        ("best = None", "pass", "best = net.state_dict() if step % 7 == 0 else best\nnet.load_state_dict(best)",
         {("GRD516", 28)}),
        ("best = None", "pass", "best = net.state_dict() if step in (190, 199) else best\nnet.load_state_dict(best)",
         {("GRD516", 28)}),
        ("best = None", "pass", "best = dict(net.state_dict()) if step == 279 else best\nnet.load_state_dict(best)",
         set()),
        ("best = None", "pass", "if step == 199: best = {k: v.clone() for k, v in net.state_dict().items()}\n"
         "net.load_state_dict(best)", set()),
        ("pass", "pass", "net.load_state_dict(net.state_dict())", set()),
        ("pass", "loss = loss + (net.layers[0].bias * 2).tolist()[0] * torch.ones(())", "pass", set()),
        ("pass", "loss = loss + (h := net.run(torch.ones(1, 3))).add((h.round() - h).detach()).mean()", "pass", set()),
        ("pass", "loss = loss + (h := net.run(torch.ones(2, 3))).mean(1).add(h.pow(2).mean(1).detach()).mean()", "pass",
         {("GRD309", 24)}),
    ],
)  # fmt: skip
def test_what_is_kept(before: str, extra: str, after: str, found: set[tuple[str, int]], tmp_path: Path) -> None:
    """Lists that a class of its own grows, aliases, and terms by sample; layers that a loop calls are no iterations."""
    text = LOOP.format(before=before, extra=extra, after=after)
    assert codes_at(watched(text, tmp_path, schedule=Schedule(4, None))) == found


COMPREHENSION = """\
import torch

torch.manual_seed(0)
net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
def step():
    loss = net(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return {returned}
for epoch in range(3):
    losses = [step() for _ in range(8)]
    print(sum(losses))
"""


@pytest.mark.parametrize(("returned", "found"), [("loss", {("GRD510", 13)}), ("loss.detach()", set())])
def test_list_that_is_being_made(returned: str, found: set[tuple[str, int]], tmp_path: Path) -> None:
    """No variable has the list of a comprehension while that runs."""
    assert codes_at(watched(COMPREHENSION.format(returned=returned), tmp_path)) == found


WASTED = """\
import torch

torch.manual_seed(0)
first, second = nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 2)), nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 1))
one, two = torch.optim.SGD(first.parameters(), lr=0.01), torch.optim.SGD(second.parameters(), lr=0.01)
for _ in range(6):
    x = first(torch.randn(4, 2))
    two.zero_grad()
    second({given}).mean().backward()
    two.step()
    one.zero_grad()
    second(first(torch.randn(4, 2))).pow(2).mean().backward()
    one.step()
"""


@pytest.mark.parametrize(("given", "found"), [("x", {("GRD519", 9)}), ("x.detach()", set())])
def test_gradients_behind_a_batch(given: str, found: set[tuple[str, int]], tmp_path: Path) -> None:
    """The second backward also fills what `two` clears, on the way to what it is meant for."""
    assert codes_at(watched(WASTED.format(given=given), tmp_path)) == found


def test_inactive_units_and_tensors() -> None:
    """A unit that a rectifier holds at zero, also if the network is gone, and a list that grows."""
    from torch import nn, ones, optim

    watch = Watch(Places(), print)
    watch.begin()
    try:
        layer = nn.Linear(2, 3)
        nn.init.constant_(layer.bias, -9.0)
        nn.init.constant_(layer.weight[0], 9.0)
        net = nn.Sequential(layer, nn.ReLU(), nn.Linear(3, 1))
        optimizer, history = optim.SGD(net.parameters(), lr=0.0), []
        for _ in range(48):
            loss = net(ones(4, 2)).mean()
            loss.backward()
            optimizer.step()
            history.append(loss.detach())
    finally:
        watch.end()
    activations = next(one for one in watch.machine.watchers if isinstance(one, Activations))
    del layer, net, optimizer
    alive = next(one for one in watch.machine.watchers if isinstance(one, Alive))
    counts = [one.inactive for one in watch.machine.measures.series(activations.inactive)]
    assert counts == [2, None, None, None]
    assert [at for at, _ in alive.points] == [3, 12, 48]
    assert alive.growing is not None and alive.growing[0] == "history"
