"""A watched program computes the same, to the last bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.concrete.running import watched

LOOP = """
import torch
from torch import nn

torch.manual_seed(1)
{setup}
losses = []
for step in range(6):
    x, y = torch.randn(8, 12), torch.randint(0, 3, (8,))
    {body}
    losses.append(loss.detach().clone())
state = [one.detach().clone() for one in model.parameters()] + losses
"""
STEP = """optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()"""
MODEL = "model = nn.Sequential(nn.Linear(12, 16), nn.BatchNorm1d(16), nn.ReLU(inplace=True), nn.Dropout(0.2), "
MODEL += "nn.Linear(16, 3))\n"
SGD = "optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)"
ADAM = "optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)"
LBFGS = "optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)"
AMP = STEP.replace(
    "loss = nn.functional.cross_entropy(model(x), y)",
    "with torch.autocast('cpu', torch.bfloat16):\n        loss = nn.functional.cross_entropy(model(x), y)",
)
CHECKPOINT = STEP.replace("model(x)", "torch.utils.checkpoint.checkpoint(model, x, use_reentrant=False)")
CLOSURE = """def closure():
        optimizer.zero_grad()
        value = nn.functional.cross_entropy(model(x), y)
        value.backward()
        return value
    loss = optimizer.step(closure)"""
FAST = """model.eval()
    with torch.no_grad():
        loss = model(x.view(8, 3, 4)).sum()"""
TRANSFORMER = "model = nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2)\n"
FUNC = """weights = dict(model.named_parameters())
    call = lambda weights: nn.functional.cross_entropy(torch.func.functional_call(model, weights, (x,)), y)
    gradients, loss = torch.func.grad_and_value(call)(weights)"""
PROGRAMS = {
    "sgd": (MODEL + SGD, STEP),
    "adamw": (MODEL + ADAM, STEP),
    "lbfgs": (MODEL + LBFGS, CLOSURE),
    "autocast": (MODEL + ADAM, AMP),
    "checkpoint": (MODEL + SGD + "\nimport torch.utils.checkpoint", CHECKPOINT),
    "fast path of transformers": (TRANSFORMER, FAST),
    "torch.func": (MODEL.replace("nn.BatchNorm1d(16), ", ""), FUNC),
}


@pytest.mark.parametrize("way", ["watched", "with checksums", "drawn"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_the_same(name: str, way: str, tmp_path: Path) -> None:
    """Losses and parameters, bit by bit; nothing is found, and the machine watches to the end, also while it draws."""
    setup, body = PROGRAMS[name]
    text = LOOP.format(setup=setup, body=body)
    plain: dict[str, list[torch.Tensor]] = {}
    exec(text, plain)
    row = text[: text.index("loss = ")].count("\n") + 1 if way == "drawn" else None
    found = watched(text, tmp_path, checksums=way == "with checksums", row=row)
    assert (found.drawing is None) == (row is None)
    assert found.error is None and found.complaints == [] and found.findings == ()
    state = found.names["state"]
    assert isinstance(state, list)
    assert all(torch.equal(one, other) for one, other in zip(plain["state"], state, strict=True))
