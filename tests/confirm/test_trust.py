"""Programs that would bend a verdict: they catch errors, end themselves, alter torch, or have names of measures."""

from __future__ import annotations

import pytest

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from tests.harness.torch_run import run_under_torch

TRAIN = """\
w = torch.ones(3, requires_grad=True)
def train():
    y = w.exp()
    y += 1
    y.sum().backward()
"""


def found(text: str, code: str) -> Finding:
    """The only finding of a rule in a program."""
    (finding,) = (one for one in check_source(text, "program.py") if one.code == code)
    return finding


def asked(prover: Prover, text: str) -> Confirmation:
    """What torch says of the write in `train`, in a program that goes on in some way after `TRAIN`."""
    return prover.confirm(found(f"import torch\n{TRAIN}train()\n", "GRD103"), f"import torch\n{TRAIN}{text}")


SWALLOWED = {
    "a loop that goes on": """\
for step in range(3):
    try:
        train()
    except Exception as error:
        print(error)
""",
    "an exit that returns True": """\
class Quiet:
    def __enter__(self):
        return self
    def __exit__(self, *error):
        return True
with Quiet():
    train()
""",
    "a stack of contexts": """\
from contextlib import ExitStack, suppress
with ExitStack() as stack:
    stack.enter_context(suppress(RuntimeError))
    train()
""",
    "a helper that tries again": """\
def again(function):
    for _ in range(2):
        try:
            return function()
        except RuntimeError:
            last = 1
again(lambda: train())
""",
    "a finally that leaves": """\
def run():
    try:
        train()
    finally:
        return 1
run()
""",
    "a decorator": """\
def quietly(function):
    def inner():
        try:
            function()
        except RuntimeError:
            return None
    return inner
quietly(train)()
""",
}


@pytest.mark.parametrize("text", SWALLOWED.values(), ids=SWALLOWED)
def test_an_error_that_the_program_catches_was_raised(prover: Prover, quick_prover: Prover, text: str) -> None:
    """The repro ends with it, also where nothing is cut down."""
    for one in (prover, quick_prover):
        answer = asked(one, text)
        assert answer.verdict == "confirmed", answer.reason
        assert answer.error is not None and answer.error.startswith("RuntimeError: one of the variables needed")
        assert answer.repro is not None
        raised = run_under_torch(answer.repro).raised
        assert raised is not None and raised.type == "RuntimeError", answer.repro


def test_another_error_of_torch_at_the_place_refutes_nothing(quick_prover: Prover) -> None:
    """The program catches it, and so runs through."""
    leaf = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
    finding = found(leaf, "GRD101")
    assert quick_prover.confirm(finding, "import torch\nw = torch.ones(3)\nw += 1\n").verdict == "refuted"
    caught = "import torch\nw = torch.ones(3)\ntry: w += torch.ones(2)\nexcept RuntimeError: pass\n"
    assert quick_prover.confirm(finding, caught).verdict == "unconfirmed"


def test_an_error_that_the_program_makes_and_catches_is_none(quick_prover: Prover) -> None:
    """Neither one that it raises itself, nor one of torch's with a text of the program."""
    text = """\
import torch
def claim():
    raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
w = torch.ones(3, requires_grad=True)
try:
    claim()
except RuntimeError:
    pass
w = w + 1
"""
    faulty = "import torch\nw = torch.ones(3, requires_grad=True)" + "\n" * 7 + "w += 1\n"
    assert quick_prover.confirm(found(faulty, "GRD101"), text).verdict == "refuted"


ENDS = {
    "sys.exit": "import sys\nsys.exit(0)\n",
    "another name": "from sys import exit as leave\nstop = leave\nstop()\n",
    "reflection": "import sys\ngetattr(sys, 'exit')()\n",
    "a module in no name": "__import__('os')._exit(0)\n",
    "quit": "quit()\n",
    "a function": "import sys\ndef finish():\n    sys.exit()\nfinish()\n",
    "a condition that holds": "import sys\nif torch.ones(1).sum() == 1:\n    sys.exit()\n",
    "an end that nothing catches": "import os\ntry:\n    os._exit(0)\nexcept BaseException:\n    pass\n",
    "a killed process": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
}


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_nothing_is_confirmed_after_the_end_of_the_program(quick_prover: Prover, text: str) -> None:
    """Not in a part of it either."""
    answer = asked(quick_prover, f"{text}train()\n")
    reasons = "the program ends before it comes to the place", "line 7 is left out, and it may release a tensor"
    assert answer.verdict == "unconfirmed"
    assert answer.reason in reasons


GOES_ON = {
    "the end of the text": "import sys\ndef main():\n    train()\nif __name__ == '__main__':\n    sys.exit(main())\n",
    "a condition that is not known": "import os, sys\nif not os.path.exists('x'):\n    sys.exit('no x')\ntrain()\n",
    "a condition that does not hold": "import sys\nif torch.ones(1).sum() == 2:\n    sys.exit()\ntrain()\n",
    "an end that is caught": "import sys\ntry:\n    sys.exit(0)\nexcept BaseException:\n    pass\ntrain()\n",
    "a variable of that name": "quit = 3\ntrain()\n",
}


@pytest.mark.parametrize("text", GOES_ON.values(), ids=GOES_ON)
def test_a_program_that_goes_on_is_confirmed(quick_prover: Prover, text: str) -> None:
    """The near twins of those that end."""
    assert asked(quick_prover, text).verdict == "confirmed"


ALTERED = {
    "a private switch": "torch._C._set_grad_enabled(False)\n",
    "an operator": "torch.Tensor.__iadd__ = lambda self, other: self + other\n",
    "a method": "torch.Tensor.backward = lambda self: None\n",
    "setattr": "setattr(torch.Tensor, 'backward', lambda self: None)\n",
    "setattr of a name that is computed": "for name in ['backward']:\n    setattr(torch.Tensor, name, print)\n",
    "a function that alters what it is given": "def alter(cls):\n    cls.backward = print\nalter(torch.Tensor)\n",
    "the class of a tensor": "type(w).backward = lambda self: None\n",
    "a dict of a module": "vars(torch)['ones'] = torch.zeros\n",
    "text": "exec('torch.Tensor.backward = print')\n",
    "a mock": "from unittest import mock\nmock.patch.object(torch.Tensor, 'backward').start()\n",
    "a mock by its path": "from unittest.mock import patch\npatch('torch.Tensor.backward').start()\n",
    "another library": "import wrapt\nwrapt.wrap_function_wrapper(torch, 'Tensor.backward', print)\n",
    "a mode": "import torch.autograd.graph\ntorch.autograd.graph.allow_mutation_on_saved_tensors().__enter__()\n",
}


@pytest.mark.parametrize("text", ALTERED.values(), ids=ALTERED)
def test_nothing_is_said_of_a_torch_that_the_program_has_altered(quick_prover: Prover, text: str) -> None:
    """What may not be run is left out, and what it would have done is not known."""
    answer = asked(quick_prover, f"{text}train()\n")
    assert answer.verdict == "unconfirmed" and "is left out, and it " in answer.reason


UNALTERED = {
    "a setting of a program": "class Settings:\n    pass\nsettings = Settings()\nsettings.size = 3\ntrain()\n",
    "a setting of torch": "torch.backends.cudnn.benchmark = True\ntrain()\n",
    "a function that nobody calls": "def mocked():\n    torch.Tensor.backward = print\ntrain()\n",
    "what is saved": "train()\ntorch.save(w, 'w.pt')\n",
    "a class that is asked for": "print(isinstance(w, torch.Tensor))\ntrain()\n",
    "a library that is given a network": "import wandb\nwandb.watch(torch.nn.Linear(3, 3))\ntrain()\n",
}


@pytest.mark.parametrize("text", UNALTERED.values(), ids=UNALTERED)
def test_what_leaves_torch_as_it_is_does_not_count(quick_prover: Prover, text: str) -> None:
    """The near twins of those that alter it."""
    assert asked(quick_prover, text).verdict == "confirmed"


@pytest.mark.parametrize("text", ["reached = [1]\n", "reached = set()\nreached.add(1)\n", "len = lambda value: 1\n"])
def test_marks_are_none_of_the_program_s_variables(quick_prover: Prover, text: str) -> None:
    """That nobody calls the function refutes nothing."""
    assert asked(quick_prover, text).verdict != "refuted"


SHADOWING = """\
import torch
from torch import nn
any = lambda values: True
len = isinstance = lambda *values: False
made = steps = arrivals = untrained = numbers = 7
def watched(value):
    return value
def noted(value):
    return value * 0
net, extra = nn.Linear(3, 1), 3
more = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    loss = (net(torch.ones(2, 3)) + more(torch.ones(2, 3))).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
"""


def test_a_measure_keeps_apart_from_the_names_of_the_program(prover: Prover) -> None:
    """Those that it defines, and the builtins that the program gives another meaning."""
    answer = prover.confirm(found(SHADOWING, "GRD608"), SHADOWING)
    assert answer.verdict == "confirmed" and answer.repro is not None
    raised = run_under_torch(answer.repro).raised
    assert raised is not None and raised.type == "AssertionError"


def test_a_program_that_asks_where_it_runs_is_not_refuted(quick_prover: Prover) -> None:
    """In the sandbox there is one thread, and a seed."""
    text = "if torch.initial_seed() != 0 or torch.get_num_threads() == 1:\n    w = w.detach()\ntrain()\n"
    assert asked(quick_prover, text).verdict != "refuted"


def test_a_backward_that_fails_proves_no_missing_gradient(quick_prover: Prover) -> None:
    """The gradient is None as the backward before has failed, for a reason of its own."""
    text = """\
import torch
w = torch.ones(3, requires_grad=True)
(w * 2).backward()
w.data -= 0.1 * w.grad
"""
    faulty = text.replace("(w * 2).backward()", "")
    assert quick_prover.confirm(found(faulty, "GRD111"), text).verdict != "confirmed"
