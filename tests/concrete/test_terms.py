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
