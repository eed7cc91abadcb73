"""The worker tells what torch did, survives what a program does, and keeps programs apart."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from tests.harness.torch_run import TorchWorker


@pytest.fixture(name="worker", scope="module")
def _worker() -> Iterator[TorchWorker]:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed, and the worker exists to run it")
    worker = TorchWorker()
    yield worker
    worker.close()


def test_an_exception_carries_the_innermost_line_of_the_program(worker: TorchWorker) -> None:
    """The line is that of the failing statement, neither that of its caller nor one inside torch."""
    code = "import torch\ndef f(x):\n    torch.mm(x, x)\nf(torch.ones(2, 3))\n"
    raised = worker.run(code).raised
    assert raised is not None
    assert (raised.type, raised.line) == ("RuntimeError", 3)
    assert "cannot be multiplied" in raised.text


def test_a_program_that_does_not_compile_has_a_line_too(worker: TorchWorker) -> None:
    """Files for Python 2 are among the fixtures."""
    raised = worker.run("x = 1\nprint x\n").raised
    assert raised is not None
    assert (raised.type, raised.line) == ("SyntaxError", 2)


def test_reveal_writes_down_what_torch_says(worker: TorchWorker) -> None:
    """The facts are torch's own, and a value that is no tensor has none."""
    code = "import torch\nx = torch.ones(2, 1, requires_grad=True)\nreveal(x)\nreveal(3)\n"
    tensor, number = worker.run(code).reveals
    assert tensor.facts == {
        "requires_grad": True,
        "is_leaf": True,
        "version": 0,
        "shape": (2, 1),
        "dtype": "float32",
        "has_grad_fn": False,
    }
    assert (number.line, number.facts) == (4, {})


def test_programs_run_as_main_and_do_not_meet(worker: TorchWorker) -> None:
    """Neither names nor torch's global state are left to the next program."""
    code = "import torch\nassert __name__ == '__main__'\ntorch.set_grad_enabled(False)\nleft = 1\n"
    assert worker.run(code).raised is None
    assert worker.run("import torch\n", shows="torch.is_grad_enabled() and 'left' not in globals()").shown


@pytest.mark.parametrize("code", ["while True: pass\n", "import os\nos.abort()\n"])
def test_a_program_that_hangs_or_dies_is_told_and_survived(worker: TorchWorker, code: str) -> None:
    """The worker itself goes on."""
    assert worker.run(code, seconds=0.5).broken
    assert worker.run("pass\n").broken is None


def test_only_the_time_counts_in_which_a_program_computes(worker: TorchWorker) -> None:
    """One that waits for its turn on a busy machine is not late; one that waits for ever is."""
    assert worker.run("import time\ntime.sleep(0.6)\n", seconds=0.2).broken is None
    assert worker.run("import time\ntime.sleep(60)\n", seconds=0.1).broken == "no end within 0.1 s"


def test_an_expression_that_raises_is_no_truth(worker: TorchWorker) -> None:
    """A slip in `shows` is told, instead of counting as false."""
    assert "NameError" in str(worker.run("pass\n", shows="missing").broken)


@pytest.mark.parametrize(
    "shows",
    [
        "grad_is_none(idle) and not grad_is_none(w)",
        "grad_is_zero(stepped) and not grad_is_zero(w) and not grad_is_zero(idle)",
        "has_nan(0 * torch.tensor(float('inf'))) and not has_nan(w)",
        "changes_with(lambda: (w * w).sum(), w) and not changes_with(lambda: idle.sum(), w)",
        "changes_with(lambda: w.argmax(), w)",
        "not differs_from_finite_differences(lambda: (w * w).sum(), w)",
        "differs_from_finite_differences(lambda: (w * w * w).sum(), w)",
        "differs_from_finite_differences(lambda: (w * w).sum(), w, at=w + 1)",
        "not differs_from_finite_differences(lambda: w.sum(), w, grad=torch.ones(3))",
        "graph_size(w) == 0 and graph_size(w * 2) == 2 and graph_size((w * 2).sum() + 1) == 4",
        "grows(lambda: losses.append(w.sum()) or losses) and not grows(lambda: w.sum())",
        "torch.equal(w, torch.tensor([1.0, 3.0, 2.0]))",
    ],
)
def test_effects_tell_faults_from_their_neighbours(worker: TorchWorker, shows: str) -> None:
    """Each measure says yes of a fault and no of something near, and leaves the values as they were."""
    code = """\
import torch
w = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
idle = torch.ones(2, requires_grad=True)
stepped = torch.ones(2, requires_grad=True)
losses = []
((w * w).sum() + stepped.floor().sum()).backward()
"""
    outcome = worker.run(code, shows)
    assert outcome.broken is None
    assert outcome.shown is True
