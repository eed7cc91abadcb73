"""What fixes make of statements whose neighbours say what was meant: before, and after all fixes are made."""

from __future__ import annotations

import pytest

from gradlint.check import check_source
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked
from tests.harness.program import FILENAME
from tests.harness.torch_run import run_under_torch

_HEAD = """\
import torch
from torch import nn

net = nn.Linear(3, 1)
x, y = torch.randn(4, 3), torch.randn(4, 1)
"""

CASES = {
    "a loss that is read as a number is reduced before": (
        "loss = (net(x) - y).pow(2)\nloss.backward()\nprint(loss.item())\n",
        "loss = (net(x) - y).pow(2)\nloss = loss.sum()\nloss.backward()\nprint(loss.item())\n",
    ),
    "a loss that is read behind its loop is reduced before": (
        "for _ in range(2):\n    loss = (net(x) - y).pow(2)\n    loss.backward()\nprint(float(loss))\n",
        "for _ in range(2):\n    loss = (net(x) - y).pow(2)\n    loss = loss.sum()\n    loss.backward()\n"
        "print(float(loss))\n",
    ),
    "a loss that another function reads is reduced in the call": (
        "def show(loss):\n    print(loss.item())\n\n\nloss = (net(x) - y).pow(2)\nloss.backward()\n",
        "def show(loss):\n    print(loss.item())\n\n\nloss = (net(x) - y).pow(2)\nloss.sum().backward()\n",
    ),
    "a loss that is scaled is reduced before": (
        "scaler = torch.amp.GradScaler('cpu', enabled=False)\nloss = (net(x) - y).pow(2)\n"
        "scaler.scale(loss).backward()\nprint(loss.item())\n",
        "scaler = torch.amp.GradScaler('cpu', enabled=False)\nloss = (net(x) - y).pow(2)\n"
        "loss = loss.sum()\nscaler.scale(loss).backward()\nprint(loss.item())\n",
    ),
    "memory is filled where more is made of it": (
        "one = torch.FloatTensor(1)\nmone = one * -1\nout = net(x).mean(0)\nout.backward(mone)\n",
        "one = torch.ones(1)\nmone = one * -1\nout = net(x).mean(0)\nout.backward(mone)\n",
    ),
    "of several modules that write in place the one is changed that spoils what another saved": (
        "drop = nn.Dropout(inplace=True)\n"
        "net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Dropout(inplace=True), nn.Linear(3, 1), drop)\n"
        "net(x).sum().backward()\n",
        "drop = nn.Dropout(inplace=True)\n"
        "net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Dropout(), nn.Linear(3, 1), drop)\n"
        "net(x).sum().backward()\n",
    ),
    "what an optimizer has stays a leaf": (
        "w = torch.ones(2, requires_grad=True)\nsteps = torch.optim.SGD([w], lr=0.1)\nw *= 2 / w.sum()\n",
        "w = torch.ones(2, requires_grad=True)\nsteps = torch.optim.SGD([w], lr=0.1)\n"
        "with torch.no_grad():\n    w *= 2 / w.sum()\n",
    ),
    "a step that is part of the graph makes a new tensor": (
        "w = torch.ones(3, 1, requires_grad=True)\nsteps = torch.optim.SGD([w], lr=0.1)\n"
        "loss = (x @ w * net(x)).sum()\n(g,) = torch.autograd.grad(loss, w, create_graph=True)\n"
        "w -= 0.1 * g\n(x @ w).sum().backward()\n",
        "w = torch.ones(3, 1, requires_grad=True)\nsteps = torch.optim.SGD([w], lr=0.1)\n"
        "loss = (x @ w * net(x)).sum()\n(g,) = torch.autograd.grad(loss, w, create_graph=True)\n"
        "w = w - (0.1 * g)\n(x @ w).sum().backward()\n",
    ),
    "a number that becomes a tensor again": (
        "loss = torch.tensor((net(x) - y).pow(2).mean().item())\nloss.backward()\n",
        "loss = (net(x) - y).pow(2).mean()\nloss.backward()\n",
    ),
    "numbers that become a tensor again": (
        "outs = [net(row) for row in x]\nvalues = torch.tensor([v.item() for v in outs])\nvalues.sum().backward()\n",
        "outs = [net(row) for row in x]\nvalues = torch.stack([v.squeeze() for v in outs])\nvalues.sum().backward()\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES.keys())
def test_a_program_becomes_another_one_that_runs(before: str, after: str) -> None:
    """The text after all fixes, and torch runs it."""
    assert _mended(_HEAD + before) == _HEAD + after
    assert run_under_torch(_HEAD + after, None).raised is None


def _mended(text: str) -> str:
    def check(text: str) -> Checked:
        return Checked(FILENAME, check_source(text, FILENAME))

    return mend(text, check(text), check, lambda finding, _: finding.fix is not None)[1].after


def test_a_new_import_stands_apart_from_a_definition() -> None:
    """Above its decorators, where there are no imports to join."""
    made = "    a = torch.nn.Linear(1, 1)\n    b = a\n    b.load_state_dict(a.state_dict())\n"
    text = "@print\ndef f():\n    import torch\n\n" + made
    assert _mended(text).startswith("import copy\n\n\n@print\ndef f():\n")
