"""No code that runs without a visible call bends a verdict; what torch does with each program says which is right."""

from __future__ import annotations

import pytest

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from tests.confirm.bends import BENDS, CODE, HEAD, PLACE, program
from tests.harness.torch_run import run_under_torch


@pytest.mark.parametrize("releases", [True, False], ids=["released", "not released"])
@pytest.mark.parametrize("bend", BENDS.values(), ids=BENDS)
def test_no_verdict_is_bent(quick_prover: Prover, bend: str, releases: bool) -> None:
    """A program that runs is never confirmed, and one that raises is never refuted."""
    text = program(bend, flag=not releases)
    row = text.count("\n")
    (finding,) = (one for one in check_source(f"{HEAD}{chr(10) * (row - 3)}{PLACE}", "a.py") if one.code == CODE)
    raised = run_under_torch(text).raised
    assert (raised is None) == releases, raised
    assert raised is None or (raised.line == row and "a leaf Variable" in raised.text)
    verdict = quick_prover.confirm(finding, text).verdict
    assert verdict != ("confirmed" if releases else "refuted")


HARMLESS = {
    "a finalizer that closes": "class A:\n    def __del__(self):\n        self.file.close()\nA\n",
    "a callback that prints": "import atexit\natexit.register(lambda: print(1))\n",
    "a type of a command line": """\
import argparse
def flag(text):
    if text not in ("yes", "no"):
        raise argparse.ArgumentTypeError(text)
    return text == "yes"
parser = argparse.ArgumentParser()
parser.add_argument("--x", type=flag)
args = parser.parse_args([])
""",
    "a network that is watched": """\
import wandb
class Net(torch.nn.Module):
    def forward(self, x):
        return x
wandb.watch(Net())
""",
    "a name by a text": "net = torch.nn.Linear(1, 1)\nfor i in range(1):\n    getattr(net, f'weigh{\"t\"}')\n",
    "types in annotations": "class A:\n    pass\ndef work(a: A, b: 'list[A]') -> A:\n    return a\n",
    "a library that is missing": "try:\n    import apex\nexcept ImportError:\n    apex = None\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_what_releases_nothing_does_not_count(quick_prover: Prover, text: str) -> None:
    """The near twins that are left out as well."""
    whole = HEAD + text + PLACE
    row = whole.count("\n")
    (finding,) = (one for one in check_source(f"{HEAD}{chr(10) * (row - 3)}{PLACE}", "a.py") if one.code == CODE)
    answer = quick_prover.confirm(finding, whole)
    assert answer.verdict == "confirmed", answer.reason


LONG = """\
import torch
FILLER
def release():
    w.requires_grad_(FLAG)
w = torch.ones(3, requires_grad=True)
CALL
w += 1
"""


@pytest.mark.parametrize("call", ["release()", "for _ in range(1):\n    release()", "torch.set_grad_enabled(FLAG)"])
@pytest.mark.parametrize("flag", [True, False])
def test_a_part_of_a_long_program_keeps_what_is_called(quick_prover: Prover, call: str, flag: bool) -> None:
    """Of a long program parts are run before the whole."""
    filler = "\n".join(f"x{number} = {number}" for number in range(120))
    text = LONG.replace("FILLER", filler).replace("CALL", call).replace("FLAG", str(flag))
    row = text.count("\n")
    (finding,) = (one for one in check_source(f"{HEAD}{chr(10) * (row - 3)}{PLACE}", "a.py") if one.code == CODE)
    raised = run_under_torch(text).raised
    assert (raised is not None) == flag
    verdict = quick_prover.confirm(finding, text).verdict
    assert verdict == ("confirmed" if flag else "refuted")
