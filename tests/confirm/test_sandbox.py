"""What a run says: the error and its place, the values of probes, and why there is no result."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator

import pytest

from gradlint.confirm.check.evidence import doubt
from gradlint.confirm.run.protocol import Probed
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.rules.registry import all_rules
from tests.harness.marks import marks_of
from tests.rules.examples import Bad, bad_of

RAISING = {
    name: bad
    for rule in all_rules()
    for name, bad in bad_of(rule).items()
    if rule.effect != "invalid" and bad.error is not None
}
SLIPS = {key: bad for key, bad in RAISING.items() if "no attribute" in str(bad.error) and key.startswith("GRD801")}
"""Names that torch does not have: the gate, which lets names pass that it knows, lets these pass if told of them."""
CALLED = """\
import torch

def step(w):
    w += 1

w = torch.ones(3, requires_grad=True)
step(w)
"""


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    """One for all."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    with Sandbox() as started:
        yield started


def test_the_walls_are_told(sandbox: Sandbox) -> None:
    """On Linux at least those that every kernel of these years has."""
    sandbox.start()
    linux = {"limits", "parent", "privileges", "syscalls"} if sys.platform == "linux" else set()
    assert set(sandbox.walls) >= {"audit", *linux}


@pytest.mark.parametrize("bad", SLIPS.values(), ids=SLIPS.keys())
def test_a_name_that_nobody_knows_does_not_pass_the_gate(sandbox: Sandbox, bad: Bad) -> None:
    """A slip of the pen is executed where it is said to be one, and only there."""
    slips = tuple(re.findall(r"attribute '(\w+)'", str(bad.error)))
    assert doubt(sandbox.run(bad.code), bad.error) is not None
    assert doubt(sandbox.run(bad.code, slips=slips), bad.error) is None


@pytest.mark.parametrize(
    "name",
    [
        *("f_global", "gi_frames", "__dicts__", "unheard_of", "func_global", "savee"),  # not near what is allowed
        *("register", "functions", "state_dict_", "optim", "compile", "load", "loads", "ctypes"),  # or of something
    ],
)
def test_no_name_of_anything_passes_as_a_slip(sandbox: Sandbox, name: str) -> None:
    """The gate asks whether it is near one that is allowed, the worker whether anything has it."""
    ran = sandbox.run(f"import torch\nx = torch.ones(2)\nx.{name}\n", slips=(name,))
    assert ran.outcome == "denied" or (ran.outcome, ran.error_type) == ("raised", "AttributeError")


REFUSED = {"GRD235-bad-1", "GRD643-bad-1"}
"""The examples that the gate refuses: a mode entered without `with`, and an operation that is defined, alter what the
rest of a program shows."""

RUN = {key: bad for key, bad in RAISING.items() if key not in SLIPS and key not in REFUSED}


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_what_alters_torch_does_not_run(sandbox: Sandbox, key: str) -> None:
    """Not even in a `with`."""
    assert sandbox.run(RAISING[key].code).outcome == "denied"


@pytest.mark.parametrize("bad", RUN.values(), ids=RUN)
def test_the_walls_leave_torch_as_it_is(sandbox: Sandbox, bad: Bad) -> None:
    """The examples of the rules pass the gate, and raise behind the walls what they raise without."""
    assert bad.error is not None
    marks = marks_of(bad.code)
    line = marks.first_finding if marks.raises is None else marks.raises[0]
    assert doubt(sandbox.run(bad.code), bad.error, line) is None


def test_an_error_has_a_text_and_a_place(sandbox: Sandbox) -> None:
    """The innermost line of the repro, and the way to it."""
    ran = sandbox.run(CALLED)
    assert (ran.outcome, ran.error_type, ran.line, ran.lines, ran.forced) == (
        "raised",
        "RuntimeError",
        4,
        (7, 4),
        False,
    )
    assert ran.message is not None and ran.message.startswith("a leaf Variable that requires grad")


def test_probes_are_evaluated_after_a_repro(sandbox: Sandbox) -> None:
    """Plain values come back as they are, tensors of one number as the number, others as text."""
    script = "import torch\nw = torch.ones(2, requires_grad=True)\nw.sum().backward()\n"
    probes = ("w.grad is None", "w.grad.sum()", "not w.grad.any()", "[1, 2]", "float('nan')", "None", "w.grad.item()")
    values = sandbox.run(script, probes).values
    plain = [value.value for value in values[:-1]]
    assert plain == [False, 2.0, False, "[1, 2]", "nan", None]
    assert values[-1] == Probed(error="RuntimeError: a Tensor with 2 elements cannot be converted to Scalar")


def test_a_repro_leaves_nothing_to_the_next(sandbox: Sandbox) -> None:
    """Settings of torch, random numbers, and names end with the process."""
    sandbox.run("import torch\ntorch.set_default_dtype(torch.float64)\ntorch.set_grad_enabled(False)\nx = 1\n")
    probes = ("torch.get_default_dtype() == torch.float32", "torch.is_grad_enabled()", "x")
    assert [probed.value for probed in sandbox.run("import torch\n", probes).values] == [True, True, None]


@pytest.mark.parametrize(
    ("script", "outcome", "message"),
    [
        ("while True:\n    pass\n", "timeout", "no end within 0.5 s of processor time"),
        ("x = [0]\nwhile True:\n    x = x * 2\n", "memory", "more memory"),
        ("import torch\nx = torch.ones(10 ** 12)\n", "memory", "can't allocate memory"),
        ("import os\n", "denied", "line 1: `import os` is not allowed"),
        ("x = (\n", "denied", "no program"),
    ],
)
def test_there_may_be_no_result(sandbox: Sandbox, script: str, outcome: str, message: str) -> None:
    """Then the run says why."""
    ran = sandbox.run(script, seconds=0.5 if outcome == "timeout" else 5.0)
    assert ran.outcome == outcome
    assert ran.message is not None and message in ran.message


def test_only_the_time_counts_in_which_a_repro_computes(sandbox: Sandbox) -> None:
    """One that waits for its turn on a busy machine is not late; one that neither ends nor computes is."""
    wait = "import time\ntime.sleep({})\n"
    assert sandbox.run_past_the_gate(wait.format(0.6), (), 0.2).outcome == "finished"
    before = sandbox.clock()
    ran = sandbox.run_past_the_gate(wait.format(60), (), 0.1)
    assert (ran.outcome, ran.message) == ("timeout", "not decided: no end within 3 s by the clock")
    assert (sandbox.undecided, sandbox.clock()) == (ran.message, math.inf)
    sandbox.undecided = None
    waited = sandbox.clock() - before
    sandbox.run_past_the_gate("pass\n", (), 0.1)
    assert waited > sandbox.clock() - before - waited


def test_lazy_parts_of_torch_and_numpy_load_behind_the_walls(sandbox: Sandbox) -> None:
    """What they import and open late is not held against a repro."""
    script = """\
import copy
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

@dataclass
class Config:
    size: int = 4

Pair = namedtuple("Pair", "x y")

class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(Config().size, 2, batch_first=True)
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x):
        x, _ = self.attend(x, x, x)
        return self.rnn(checkpoint(torch.sin, x, use_reentrant=False))[0]

model = copy.deepcopy(Attend())
optimizer = torch.optim.AdamW(model.parameters())
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for (x,) in DataLoader(TensorDataset(torch.from_numpy(np.random.rand(4, 3, 4)).float()), batch_size=2, shuffle=True):
    pair = Pair(model(x), torch.distributions.Normal(x, 1.0).rsample())
    loss = torch.nn.functional.mse_loss(*pair) + torch.linalg.inv(torch.eye(2)).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
hessian = torch.func.hessian(lambda t: (t ** 3).sum())(torch.ones(2))
mean = np.array([1.0, 2.0]).mean() + np.linalg.norm(np.ones(3))
print(model, loss, f"{loss.item():.3f}")
"""
    ran = sandbox.run(script, ("bool(hessian.any())",), seconds=20.0)
    assert (ran.outcome, ran.message, ran.values) == ("finished", None, (Probed(True),))
