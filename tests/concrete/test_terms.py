"""Terms of a loss that give nothing, weights of losses that are not trained, and a mode that is left as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

LOOP = """\
import torch

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.Linear(8, 1))
other, logs = nn.Linear(4, 1), []
weights = nn.Parameter(torch.ones(2))
{before}
optimizer = torch.optim.Adam([*model.parameters(), *other.parameters(), {held}], lr=0.01)
for step, x in enumerate(torch.randn(9, 16, 4)):
    {eval}
    first, second = model(x).pow(2).mean(), other(x).abs().mean()
    loss = {loss}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    {after}
"""
_DEFAULTS = {"before": "", "held": "weights", "eval": "pass", "after": "pass"}
_STACKED = "(torch.stack([first, {}]) * torch.exp(-weights) + weights).sum()"
_SUM = "first + second + weights.pow(2).sum()"


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"loss": _STACKED.format("second")}, set()),
        ({"loss": _STACKED.format("second.detach()") + " + other(x).exp().mean()"}, {("GRD309", 12)}),
        ({"loss": "(torch.stack([x.mean(), x.std()]) * weights).sum() + first + second"}, set()),
        ({"loss": _SUM + " + model(x).round().abs().mean()"}, {("GRD402", 12)}),
        ({"loss": _SUM + " + 0.1 * (other(x) - other(x).floor()).mean()"}, set()),
        ({"loss": _SUM + " + (x.round() - model(x)).abs().mean()"}, set()),
        ({"loss": _SUM, "held": ""}, {("GRD608", 8)}),
        ({"loss": _SUM, "held": "", "after": "weights.data -= 0.1 * weights.grad; weights.grad = None"}, set()),
        ({"loss": "first + second", "held": ""}, set()),
        ({"loss": _SUM, "eval": "model.eval()"}, set()),
        ({"loss": _SUM, "eval": "model.eval()", "before": "model.eval().train()"}, set()),
        ({"loss": _SUM, "eval": "model.eval()", "after": "step == 3 and model.train()"}, {("GRD517", 10)}),
        ({"loss": _SUM, "eval": "net.train(); model.eval()", "before": "net = nn.ModuleList([model])"}, set()),
        ({"loss": _SUM, "after": "logs.append(loss.item()); step > 2 and logs.append(second)"}, {("GRD510", 16)}),
    ],
)  # fmt: skip
def test_terms_weights_and_modes(changed: dict[str, str], found: set[tuple[str, int]], tmp_path: Path) -> None:
    """Each is beside what looks like it and is right."""
    assert codes_at(watched(LOOP.format(**_DEFAULTS | changed), tmp_path)) == found


PARTS = """\
import torch

class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)) for _ in range(2))
        self.bias = nn.Parameter(torch.ones(4))
    def forward(self, x):
        return (self.left(x) * self.right(x)).sum(1) + self.bias.sum()

class Fit:
    def __init__(self):
        self.model = Towers()
        self.scale = nn.Parameter(torch.ones(1))
        self.first = torch.optim.SGD([*self.model.left.parameters(), {extra}], lr=0.01)
        self.second = torch.optim.SGD([{held}], lr=0.01)
        self.kept = []
    def step(self):
        loss = (self.model(torch.randn(8, 4)) * self.scale).pow(2).mean()
        self.first.zero_grad()
        self.second.zero_grad()
        loss.backward()
        self.first.step()
        self.second.step()
        {kept}
    def evaluate(self):
        {mode}
        with torch.no_grad():
            return [self.model.left(torch.ones(1, 4)) for _ in range(4)]

fit = Fit()
for _ in range(6):
    fit.step()
fit.evaluate()
"""


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({}, set()),
        ({"held": "self.model.bias"}, {("GRD608", 15)}),
        ({"extra": "self.model.bias"}, {("GRD608", 15)}),
        ({"extra": "self.model.bias", "held": "*self.model.right.parameters()"}, {("GRD608", 15)}),
        ({"kept": "self.kept = self.kept + [loss]"}, {("GRD510", 25)}),
        ({"kept": "self.kept = self.kept + [loss.detach()]"}, set()),
        ({"mode": "pass"}, {("GRD522", 29)}),
    ],
)
def test_parts(changed: dict[str, str], found: set[tuple[str, int]], tmp_path: Path) -> None:
    """Two optimizers hold the parameters together; a part of the network is called alone."""
    whole = {"extra": "self.scale", "held": "self.model.bias, *self.model.right.parameters()", "kept": "pass"}
    text = PARTS.format(**whole | {"mode": "self.model.eval()"} | changed)
    assert codes_at(watched(text, tmp_path)) == found


def test_what_waits_when_a_program_fails(tmp_path: Path) -> None:
    """The backward that would have run through the graphs of a rollout has not come."""
    text = """\
import torch
layer = nn.Linear(2, 2)
x = torch.ones(1, 2)
for _ in range(9):
    x = x + layer(x)
{fails}
x.sum().backward()
"""
    assert codes_at(watched(text.format(fails="raise ValueError"), tmp_path)) == set()
