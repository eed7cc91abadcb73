"""Which networks compute otherwise in training than in evaluation, and so must be switched."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

PROGRAM = """
import torch
from torch import nn
from torch.nn import functional as F

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 8), nn.Linear(8, 1)

        self.one.requires_grad_(TRAINED)

    def forward(self, x):
        return self.two(DROPOUT)

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    TRAIN
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()
    EVAL
    with torch.no_grad():
        for _ in range(4):
            model(torch.randn(8, 4))
"""


def said(
    dropout: str, train: str = "model.train()", evaluate: str = "model.eval()", trained: str = "True", *, folder: Path
) -> set[str]:
    """Return the codes that are reported of the program."""
    text = PROGRAM.replace("TRAINED", trained).replace("DROPOUT", dropout)
    text = text.replace("TRAIN", train).replace("EVAL", evaluate)
    found = watched(text, folder)
    assert found.error is None and found.complaints == []
    return {code for code, _ in codes_at(found)}


@pytest.mark.parametrize(
    "dropout", ["F.dropout(self.one(x), 0.5, self.training)", "F.dropout(self.one(x), training=self.training)"]
)
def test_dropout_by_a_function_follows_the_mode(dropout: str, tmp_path: Path) -> None:
    """As a layer of dropout does."""
    assert said(dropout, folder=tmp_path) == set()
    assert said(dropout, "pass", folder=tmp_path) == {"GRD517"}
    assert said(dropout, evaluate="pass", folder=tmp_path) == {"GRD522"}


@pytest.mark.parametrize(
    "dropout", ["self.one(x)", "F.dropout(self.one(x), 0.5, True)", "F.dropout(self.one(x), 0.0, self.training)"]
)
def test_what_is_the_same_in_both_modes_is_not_asked_for(dropout: str, tmp_path: Path) -> None:
    """No dropout, one that is always on, and one that drops nothing."""
    assert said(dropout, "pass", folder=tmp_path) == said(dropout, evaluate="pass", folder=tmp_path) == set()


def test_a_network_of_which_a_part_is_frozen(tmp_path: Path) -> None:
    """It is trained by the parameters that require grad."""
    dropout = "F.dropout(self.one(x), training=self.training)"
    assert said(dropout, trained="False", folder=tmp_path) == set()
    assert said(dropout, "pass", trained="False", folder=tmp_path) == {"GRD517"}
