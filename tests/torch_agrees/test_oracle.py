"""The oracle: what it says of programs whose outcome is known."""

from __future__ import annotations

import pytest
import torch

from .oracle import Outcome, run

SAVED = """import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
def scale(t):
    t.mul_(2)
scale(y)
y.sum().backward()
"""

STALE = """import torch
from torch import nn
m = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
o = torch.optim.SGD(m.parameters(), lr=0.1)
loss = m(torch.ones(1, 2)).sum()
loss.backward(retain_graph=True)
o.step()
loss.backward()
"""

SILENT = """import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
y.data.mul_(2)
y.sum().backward()
"""

HARMLESS = """import torch
w = torch.ones(3, requires_grad=True)
y = w.relu()
y.data.mul_(2)
y.sum().backward()
"""

RESTORED = """import torch
w = torch.ones(3, requires_grad=True)
y = w.exp()
y.data.mul_(2)
y.data.div_(2)
y.sum().backward()
"""

SET_DATA = """import torch
w = torch.ones(3, requires_grad=True)
u = torch.ones(3, requires_grad=True)
loss = (w * u).sum()
w.data = w.data * 3
loss.backward()
"""

NON_LEAF = """import torch
w = torch.ones(3, requires_grad=True)
y = w * 2
y.sum().backward()
g = y.grad
g.norm()
"""

BATCH_NORM = """import torch
from torch import nn
m = nn.BatchNorm1d(2)
loss = m(torch.randn(4, 2)).pow(2).sum() + m(torch.randn(4, 2)).pow(2).sum()
loss.backward()
"""

PARTS = """import torch
w = torch.ones(4, requires_grad=True)
y = w * 2
a, b = y.chunk(2)
y.add_(1)
(a * b).sum().backward()
"""

OVERLAP = """import torch
w = torch.ones(3, requires_grad=True)
e = (w * 2).expand(4, 3)
e[e > 0] = 0
e.sum().backward()
"""

REBOUND = """import torch
w = torch.ones(3, requires_grad=True)
(w * w).sum().backward()
with torch.no_grad():
    w = w - 0.1 * w.grad
w.grad.zero_()
"""

SECOND_ORDER = """import torch
w = torch.ones(3, requires_grad=True)
g, = torch.autograd.grad((w ** 3).sum(), w, create_graph=True)
(g ** 2).sum().backward()
"""


def test_a_raise_has_its_class_and_the_innermost_line() -> None:
    source = "import torch\ndef f(t):\n    t += 1\nw = torch.ones(2, requires_grad=True)\nf(w)\n"
    outcome = run(source)
    assert (outcome.kind, outcome.error, outcome.line) == ("fails", "leaf-inplace", 3)


def test_a_modified_saved_tensor_names_the_write() -> None:
    outcome = run(SAVED)
    assert (outcome.error, outcome.line, outcome.culprits) == ("saved-modified", 7, (5,))


def test_a_step_between_backwards_is_a_stale_graph() -> None:
    outcome = run(STALE)
    assert (outcome.error, outcome.line, outcome.culprits) == ("stale-graph", 8, (7,))


def test_a_hidden_write_is_silent_and_its_line_is_known() -> None:
    outcome = run(SILENT)
    assert (outcome.error, outcome.line, outcome.culprits) == ("silent-data", None, (4,))


def test_new_data_under_a_saved_leaf_is_silent_too() -> None:
    outcome = run(SET_DATA)
    assert (outcome.error, outcome.line, outcome.culprits) == ("silent-data", None, (5,))


def test_a_hidden_write_without_effect_is_doubtful() -> None:
    assert run(HARMLESS).kind == "doubtful"


@pytest.mark.parametrize("source", [RESTORED, BATCH_NORM, SECOND_ORDER])
def test_what_is_right_is_ok(source: str) -> None:
    assert run(source) == Outcome("ok")


def test_the_gradient_of_a_non_leaf_counts_from_the_warning() -> None:
    outcome = run(NON_LEAF)
    assert (outcome.error, outcome.line, outcome.culprits) == ("non-leaf-grad", 5, (6,))


@pytest.mark.parametrize(
    ("source", "error", "line", "culprit"),
    [(PARTS, "multi-view", 6, 5), (OVERLAP, "overlap", 5, 4), (REBOUND, "none-grad", 6, 5)],
)
def test_what_torch_finds_out_later_has_its_culprit(source: str, error: str, line: int, culprit: int) -> None:
    outcome = run(source)
    assert (outcome.error, outcome.line, outcome.culprits) == (error, line, (culprit,))


def test_errors_that_are_not_of_autograd_are_dropped() -> None:
    assert run("import torch\ntorch.ones(2) @ torch.ones(3)\n").kind == "dropped"
    assert run("import torch\nprint(undefined)\n").kind == "dropped"
    assert run("def f(:\n").kind == "dropped"


def test_a_program_leaves_no_trace_in_the_next() -> None:
    run("import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\n")
    assert torch.get_default_dtype() == torch.float32
    assert run("import torch\ntorch.ones(1, requires_grad=True).exp().backward()\n").kind == "ok"


def test_the_same_program_has_the_same_outcome_twice() -> None:
    source = "import torch\nx = torch.randn(3, requires_grad=True)\n(x * torch.rand(3)).sum().backward()\n"
    assert run(source) == run(source)
