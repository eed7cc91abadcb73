"""Steps with a closure: those of which the backward has run before, as frameworks call them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

PROGRAM = """
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

def closure():
    pass

for x in torch.randn(6, 8, 4):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step(closure)
"""


def test_a_closure_that_does_nothing_is_right_after_a_backward(tmp_path: Path) -> None:
    """The step uses the gradients that are there."""
    assert codes_at(watched(PROGRAM, tmp_path)) == set()


@pytest.mark.parametrize(
    ("row", "code"), [("    optimizer.zero_grad()\n", "GRD501"), ("    model(x).pow(2).mean().backward()\n", "GRD508")]
)
def test_what_is_missing_is_found(row: str, code: str, tmp_path: Path) -> None:
    """As of a step without a closure."""
    assert code in {found for found, _ in codes_at(watched(PROGRAM.replace(row, ""), tmp_path))}


FORGOTTEN = """
import torch
from torch import nn

class Step:
    def __init__(self, loss): self.loss = loss
    def __call__(self):
        optimizer.zero_grad()
        loss = self.loss()
        loss.backward()
        return loss

body, head = nn.Sequential(nn.Linear(4, 3), nn.Tanh()), nn.Linear(3, 1)
model = nn.Sequential(body, head)
optimizer = torch.optim.Adam({held}.parameters(), lr=0.1)
for x in torch.randn(6, 8, 4):
    optimizer.step(Step(lambda: model(x).pow(2).mean()))
"""


@pytest.mark.parametrize(("held", "found"), [("model", set()), ("body", {("GRD608", 15)})])
def test_what_no_optimizer_holds(held: str, found: set[tuple[str, int]], tmp_path: Path) -> None:
    """The backward runs in the closure, an object that is called, as Lightning makes it."""
    assert codes_at(watched(FORGOTTEN.replace("{held}", held), tmp_path)) == found
