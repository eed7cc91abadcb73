"""Drawn tapes put before torch in the sandbox: what agrees, what differs, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.tape import Compared, compared
from gradlint.domain.drawing import Drawing
from gradlint.graph import graph

PROGRAM = """\
import torch
w = torch.ones(3, 3, requires_grad=True)
h = (w @ w).exp()
h += 1
total = 0.0
for _ in range(3):
    total = total + h.sum()
loss = total * 2
loss.backward()
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all tests."""
    with Sandbox() as started:
        yield started


def asked(sandbox: Sandbox, text: str, row: int, filename: str = "a.py") -> Compared:
    """What becomes of the drawing of a row."""
    drawing = graph(text, filename, row)
    assert isinstance(drawing, Drawing)
    return compared(sandbox, drawing, text)


@pytest.mark.parametrize("row", [2, 3, 4, 7, 8, 9])
def test_torch_records_what_is_drawn(sandbox: Sandbox, row: int) -> None:
    """Leaves, assignments, writes in place, iterations, and the root of a backward."""
    assert asked(sandbox, PROGRAM, row).verdict == "same"


def test_a_wrong_name_is_a_difference(sandbox: Sandbox) -> None:
    """It is said where, and what torch has there."""
    drawing = graph(PROGRAM, "a.py", 3)
    assert isinstance(drawing, Drawing)
    steps = tuple(
        replace(one, names=("SinBackward0",)) if "ExpBackward0" in one.names else one for one in drawing.steps
    )
    result = compared(sandbox, replace(drawing, steps=steps), PROGRAM)
    assert result.verdict == "different"
    assert result.differences == ("node at row 3, (w @ w).exp(): drawn ('SinBackward0',), torch ExpBackward0",)


def test_a_link_too_few_is_a_difference(sandbox: Sandbox) -> None:
    """Torch has an input more."""
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nv = torch.ones(3, requires_grad=True)\ny = w * v\n"
    drawing = graph(text, "a.py", 4)
    assert isinstance(drawing, Drawing)
    result = compared(sandbox, replace(drawing, links=drawing.links[:1]), text)
    assert result.verdict == "different"
    assert "edges at row 4" in result.differences[0]


def test_a_cut_is_a_tensor_without_a_graph(sandbox: Sandbox) -> None:
    """And a graph where none is drawn is a difference."""
    text = "import torch\nw = torch.ones(3, requires_grad=True)\ny = w.detach()\n"
    assert asked(sandbox, text, 3).said == "torch records the same graph: none"


def test_what_nobody_calls_is_called_with_made_up_values(sandbox: Sandbox) -> None:
    """A difference would prove nothing then."""
    text = "import torch\ndef f(x):\n    w = torch.ones(3, requires_grad=True)\n"
    text += "    y = (w * 2).sum()\n    y.backward()\n    return x\n"
    assert asked(sandbox, text, 5).verdict == "same"
    drawing = graph(text, "a.py", 5)
    assert isinstance(drawing, Drawing)
    steps = tuple(
        replace(one, names=("SinBackward0",)) if "MulBackward0" in one.names else one for one in drawing.steps
    )
    assert compared(sandbox, replace(drawing, steps=steps), text).verdict == "unconfirmed"


def test_a_file_is_run_with_what_it_imports_from_its_project(sandbox: Sandbox, tmp_path: Path) -> None:
    """The row is that of the file."""
    (tmp_path / "parts.py").write_text("import torch\n\ndef scaled(x):\n    return x.sin() * 2\n")
    text = "import torch\nfrom parts import scaled\n\nw = torch.ones(3, requires_grad=True)\ny = scaled(w)\n"
    (tmp_path / "a.py").write_text(text)
    assert asked(sandbox, text, 5, str(tmp_path / "a.py")).verdict == "same"


@pytest.mark.parametrize(
    ("text", "row", "said"),
    [
        ("import torch\nw = torch.ones(3, requires_grad=True)\nprint(w * 2)\n", 3, "neither assigns"),
        ("import torch\nw = torch.ones(3, requires_grad=True)\nw.view(2)\ny = w * 2\n", 4, "no run came to the line"),
    ],
)
def test_what_cannot_be_compared(sandbox: Sandbox, text: str, row: int, said: str) -> None:
    """It is said why."""
    result = asked(sandbox, text, row)
    assert result.verdict == "unconfirmed"
    assert said in result.said


def test_the_gate_stands_before_the_tape(sandbox: Sandbox) -> None:
    """What may not be run is replaced by made-up values, as for findings, and reads no file."""
    text = "import torch\nw = torch.load('w.pt')\ny = (w * 1).sum()\ny.backward()\n"
    drawing = graph(text, "a.py", 4)
    if isinstance(drawing, Drawing):
        assert compared(sandbox, drawing, text).verdict in ("same", "unconfirmed")
