"""Slices: what of a program one statement depends on, and what is left where a part of it fails."""

from __future__ import annotations

import ast
import textwrap

import pytest

from gradlint.check import check_source
from gradlint.confirm.prepare.slice import Slice, slices
from gradlint.confirm.prove import Prover

TRAINING = """\
import torch
from torch import nn
from readers import read_batches

model = nn.Linear(3, 1)
unused = nn.Linear(2, 2)
criterion = nn.MSELoss()


def train(epochs, rate=0.1):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    total = 0.0
    for x, y in read_batches(epochs):
        out = model(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epochs > 3:
            total += loss.data[0]
    return total
"""
"""In row 20 a number is indexed."""


def sliced(text: str, row: int, start: int, end: int, *, effects: bool = False, depth: int = 99) -> Slice:
    return Slice(ast.parse(text), (row, start, row, end), effects=effects, depth=depth)


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        pytest.param(
            1,
            """\
            total = 0.0
            for x, y in read_batches(epochs):
                loss = criterion(out, y)
                total += loss.data[0]
            """,
            id="what-it-reads",
        ),
        pytest.param(
            99,
            """\
            model = nn.Linear(3, 1)
            criterion = nn.MSELoss()
            total = 0.0
            for x, y in read_batches(epochs):
                out = model(x)
                loss = criterion(out, y)
                total += loss.data[0]
            """,
            id="all-that-it-depends-on",
        ),
    ],
)
def test_a_slice_is_what_a_statement_depends_on(depth: int, expected: str) -> None:
    """The function around it is the program; questions that have nothing to do with it are left out."""
    made = ast.unparse(sliced(TRAINING, 20, 22, 34, depth=depth).tree)
    without_imports = "\n".join(line for line in made.splitlines() if "import" not in line)
    assert without_imports.strip() == textwrap.dedent(expected).strip()


def test_effects_are_kept_where_they_count() -> None:
    """Walks and steps, also those behind the statement: the next turn comes by them."""
    made = ast.unparse(sliced(TRAINING, 17, 9, 24, effects=True).tree)
    order = [made.index(part) for part in ("rate = 0.1", "zero_grad()", "loss.backward()", "optimizer.step()")]
    assert order == sorted(order)


def test_what_fails_is_cut_out() -> None:
    """Its variables are made up; what the fault reads itself stays the program's own."""
    made = sliced(TRAINING, 20, 22, 34)
    assert made.cut(14)
    assert "out = out_0" in ast.unparse(made.tree)
    assert made.aliases == {"out_0": "out"}
    assert not made.cut(15)
    assert not made.cut(20)


def test_the_same_slice_is_tried_once() -> None:
    """Where nothing lies deep, all depths give the same."""
    text = "import torch\nx = torch.ones(3)\nx += torch.ones(2, 3)\n"
    finding = check_source(text)[0]
    assert len(slices(ast.parse(text), finding.span, local=True)) == 1


def test_a_finding_is_shown_by_a_part_of_a_program_that_cannot_run(prover: Prover) -> None:
    """Whatever stands around it."""
    needs = "import sys\nfrom somewhere import *\nsettings = load_settings(sys.argv[1])\nstart(settings)\n" * 30
    finding = next(one for one in check_source(needs + TRAINING) if one.code == "GRD804")
    verdict = prover.confirm(finding, needs + TRAINING)
    assert verdict.verdict == "confirmed"
    assert verdict.error is not None and "invalid index of a 0-dim tensor" in verdict.error
    assert verdict.repro is not None and "criterion(" in verdict.repro


def test_a_part_proves_nothing_that_the_program_does_not_do(prover: Prover) -> None:
    """What the program asks before is asked in its slice, too."""
    before = "import os\n" * 100
    right = TRAINING.replace("if epochs > 3:", "if loss.dim() > 0:")
    wrong = next(one for one in check_source(before + TRAINING) if one.code == "GRD804")
    assert prover.confirm(wrong, before + right).verdict != "confirmed"
