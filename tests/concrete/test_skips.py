"""Skip connections whose input a block has overwritten, and what looks like them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

NETWORK = """\
import torch
import torch.nn.functional as F

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential({first}, nn.Linear(4, 4))
    def forward(self, x):
        {forward}

net = nn.Sequential(nn.Linear(4, 4), Block(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for _ in range(3):
    optimizer.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    optimizer.step()
"""
_INPLACE = "nn.ReLU(inplace=True)"


@pytest.mark.parametrize(
    ("first", "forward", "rows"),
    [
        (_INPLACE, "return x + self.body(x)", {9}),
        ("nn.LeakyReLU(0.1, inplace=True)", "return torch.cat([self.body(x), x], 1)[:, 2:6]", {9}),
        (_INPLACE, "h = self.body(x); h += x; return h", {9}),
        (_INPLACE, "h = x\n        for layer in self.body: h = layer(h)\n        return x + h", {11}),
        ("nn.ReLU()", "return x + self.body(x)", set()),
        (_INPLACE, "return x + self.body(x.clone())", set()),
        (_INPLACE, "x = x.square(); return x + self.body(x)", set()),
        (_INPLACE, "x = self.body[0](x); return x + self.body[1](x)", set()),
        (_INPLACE, "x = F.relu(x, inplace=True); return x + self.body[1](x)", set()),
        (f"nn.Linear(4, 4), {_INPLACE}", "x = self.body[:2](x); return x + self.body[2](x)", set()),
    ],
)  # fmt: skip
def test_skips(first: str, forward: str, rows: set[int], tmp_path: Path) -> None:
    """What the line itself has activated is meant; so is a value in which nothing is below zero."""
    found = codes_at(watched(NETWORK.format(first=first, forward=forward), tmp_path))
    assert found == {("GRD114", row) for row in rows}
