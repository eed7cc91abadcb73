"""No code that runs without a visible call bends a verdict; what torch does with each program says which is right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from gradlint.domain.finding import Finding
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


OUTSIDE = {
    "a variable of the environment": "import os\nif os.environ.get('GRADLINT_NEVER_SET'):\n    w += 1\n",
    "a key of the environment": "import os\nif 'GRADLINT_NEVER_SET' in os.environ:\n    w += 1\n",
    "the file's own name": "if __file__.endswith('_other.py'):\n    w += 1\n",
    "the command line": "import sys\nif len(sys.argv) > 99:\n    w += 1\n",
    "a variable in between": "import os\nflag = os.getenv('GRADLINT_NEVER_SET')\nif flag:\n    w += 1\n",
    "the other arm": "import os\nif 'GRADLINT_NEVER_SET' not in os.environ:\n    pass\nelse:\n    w += 1\n",
    "a loop": "import os\nwhile 'GRADLINT_NEVER_SET' in os.environ:\n    w += 1\n",
    "an operand": "import os\nos.environ.get('GRADLINT_NEVER_SET') and w.add_(1)\n",
    "one of two values": "import os\nw.add_(1) if os.environ.get('GRADLINT_NEVER_SET') else None\n",
    "an end": "import os, sys\nif 'GRADLINT_NEVER_SET' not in os.environ:\n    sys.exit()\nw += 1\n",
    "an exception": "import sys\nif len(sys.argv) < 99:\n    raise SystemExit\nw += 1\n",
    "an end in a function": "import os, sys\ndef check():\n    if 'GRADLINT_NEVER_SET' not in os.environ:\n"
    "        sys.exit()\ncheck()\nw += 1\n",
    "a return": "import os\ndef work():\n    if 'GRADLINT_NEVER_SET' not in os.environ:\n        return\n"
    "    w.add_(1)\nwork()\n",
    "the next turn": "import os\nfor i in range(3):\n    if 'GRADLINT_NEVER_SET' not in os.environ:\n        continue\n"
    "    w += 1\n",
    "a release": "import os\nif 'GRADLINT_NEVER_SET' not in os.environ:\n    w.requires_grad_(False)\nw += 1\n",
    "a switch": "import sys\nif not sys.argv[99:]:\n    torch.set_grad_enabled(False)\nw += 1\n",
}
"""What decides stands nowhere in the program; each runs without an error, here as on most machines."""
INSIDE = {
    "a value": "import os\nname = 'a' if os.environ.get('GRADLINT_NEVER_SET') else 'b'\nw += 1\n",
    "a return elsewhere": "import os\ndef name():\n    if 'GRADLINT_NEVER_SET' in os.environ:\n        return 'a'\n"
    "    return 'b'\nprint(name())\nw += 1\n",
    "what is only printed": "import os\nif 'GRADLINT_NEVER_SET' in os.environ:\n    print('a')\nw += 1\n",
    "a guard of the module": "if __name__ == '__main__':\n    w += 1\n",
    "a flag with a default": "import argparse\nparser = argparse.ArgumentParser()\n"
    "parser.add_argument('--times', type=int, default=3)\nargs = parser.parse_args([])\n"
    "if args.times > 2:\n    w += 1\n",
    "an end below": "import os, sys\nw += 1\nif 'GRADLINT_NEVER_SET' in os.environ:\n    sys.exit()\n",
}
"""The near twins: the environment decides something else."""


@pytest.mark.parametrize("text", OUTSIDE.values(), ids=OUTSIDE)
def test_what_the_environment_decides_is_not_made_up(quick_prover: Prover, text: str) -> None:
    """A repro does not choose the way to the place where the program would have taken another one."""
    whole = HEAD + text
    raised = run_under_torch(whole).raised
    assert raised is None or raised.text == "name '__file__' is not defined"  # It is run without a file.
    assert quick_prover.confirm(_leaf_write(whole), whole).verdict == "unconfirmed"


@pytest.mark.parametrize("text", INSIDE.values(), ids=INSIDE)
def test_what_the_environment_does_not_decide_is_confirmed(quick_prover: Prover, text: str) -> None:
    """The place is reached either way."""
    whole = HEAD + text
    assert run_under_torch(whole).raised is not None
    answer = quick_prover.confirm(_leaf_write(whole), whole)
    assert answer.verdict == "confirmed", answer.reason


def _leaf_write(whole: str) -> Finding:
    """Return the finding about the write, which is found wherever it stands."""
    row, line = next((row, line) for row, line in enumerate(whole.splitlines(), 1) if re.search(r"w \+=|w\.add_", line))
    column = line.index("w")
    bare = f"{HEAD}{chr(10) * (row - 4)}if True:\n{' ' * max(column, 1)}{line[column:].partition(' if ')[0]}\n"
    if row < 4 or column == 0:
        bare = f"{HEAD}{chr(10) * (row - 3)}{line}\n"
    (finding,) = (one for one in check_source(bare, "a.py") if one.code == CODE)
    assert finding.span.start.row == row
    return finding


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


SWITCH = "import torch\ntorch.set_grad_enabled(FLAG)\n"
FILES = {
    "an import of all names": ("from helper import *\n", "import torch\nw = torch.ones(3, requires_grad=FLAG)\n"),
    "a switch": ("import helper\n", SWITCH),
    "a switch below a condition": ("try:\n    import helper\nexcept ImportError:\n    pass\n", SWITCH),
    "a method of torch": (
        "import helper\n",
        "import torch\nif not FLAG:\n    torch.Tensor.__iadd__ = torch.Tensor.__add__\n",
    ),
    "the variables of the program": (
        "import helper\n",
        "import sys\nif not FLAG:\n    main = sys.modules['__main__']\n    main.w = main.w.detach()\n",
    ),
    "an end": ("import helper\n", "if not FLAG:\n    raise SystemExit(0)\n"),
    "a function": ("from helper import off\noff(w)\n", "def off(t):\n    t.requires_grad_(FLAG)\n"),
    "a loaded module": ("import importlib\nimportlib.import_module('helper')\n", SWITCH),
    "a file that is run": ("import runpy\nrunpy.run_path('helper.py')\n", SWITCH),
    "a finalizer": (
        "from helper import Guard\nGuard(w)\n",
        "class Guard:\n    def __init__(self, t):\n        self.t = t\n"
        "    def __del__(self):\n        self.t.requires_grad_(FLAG)\n",
    ),
}


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize(("imports", "helper"), FILES.values(), ids=FILES)
def test_no_verdict_is_bent_by_another_file(
    quick_prover: Prover, tmp_path: Path, imports: str, helper: str, flag: bool
) -> None:
    """What it does when it is imported, and what of it is called."""
    text, file = HEAD + imports + PLACE, tmp_path / "program.py"
    file.write_text(text, encoding="utf-8")
    (tmp_path / "helper.py").write_text(helper.replace("FLAG", str(flag)), encoding="utf-8")
    ran = subprocess.run([sys.executable, str(file)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ("a leaf Variable" in ran.stderr) == flag
    blank = chr(10) * (text.count("\n") - 3)
    (finding,) = (one for one in check_source(f"{HEAD}{blank}{PLACE}", str(file)) if one.code == CODE)
    assert quick_prover.confirm(finding, text).verdict != ("refuted" if flag else "confirmed")
