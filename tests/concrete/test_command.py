"""`gradlint run` as a command: what belongs to the program stays as it is."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

BROKEN = "import torch\nx = torch.ones(2, requires_grad=True)\nx += 1\n"


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return _gradlint(folder, "run", *arguments)


def checked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Check files in a folder."""
    return _gradlint(folder, "check", "--isolated", "--no-cache", "--quiet", "--jobs", "1", *arguments)


def _gradlint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.run(
        [sys.executable, "-m", "gradlint", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_script_gets_its_arguments(tmp_path: Path) -> None:
    """Options of the program are not gradlint's; its folder is the first of the path."""
    (tmp_path / "beside.py").write_text("value = 3\n")
    (tmp_path / "a.py").write_text("import sys, beside, __main__\nprint(sys.argv, __name__, __main__.beside.value)\n")
    ran = command(tmp_path, "a.py", "-q", "--select", "x")
    assert ran.stdout == "['a.py', '-q', '--select', 'x'] __main__ 3\n"
    assert ran.stderr == "gradlint: the program has not imported torch: nothing was watched\n"
    assert ran.returncode == 0


def test_checksums_are_asked_for(tmp_path: Path) -> None:
    """An array of numpy is seen with the option alone."""
    text = "import torch\nx = torch.ones(2, requires_grad=True)\nloss = (x * x).sum()\n"
    (tmp_path / "a.py").write_text(f"{text}a = x.detach().numpy()\na[0] = 7.0\nloss.backward()\n")
    assert "a.py:5:1: error: GRD105" in command(tmp_path, "--checksums", "a.py").stderr
    assert "GRD105" not in command(tmp_path, "a.py").stderr


def test_a_module_runs(tmp_path: Path) -> None:
    """As by `python -m`, with relative imports."""
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(
        "import sys\nfrom . import __name__ as name\nprint(name, sys.argv[1:])"
    )
    assert command(tmp_path, "-m", "package.train", "--epochs", "1").stdout == "package ['--epochs', '1']\n"


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("import sys\nsys.exit(7)", 7, ""),
        ("import sys\nsys.exit('no data')", 1, "no data"),
        ("raise ValueError('x')", 1, "ValueError: x"),
        ("import nothing_of_this_name", 1, "ModuleNotFoundError"),
        ("def (", 1, "SyntaxError"),
    ],
)
def test_exit_codes_are_the_programs(text: str, code: int, said: str, tmp_path: Path) -> None:
    """And its traceback has no frame of gradlint's."""
    (tmp_path / "a.py").write_text(text)
    ran = command(tmp_path, "a.py")
    assert ran.returncode == code and said in ran.stderr
    assert "gradlint/" not in ran.stderr


def test_an_interrupt_ends_by_its_signal(tmp_path: Path) -> None:
    """As shells expect it of Python."""
    (tmp_path / "a.py").write_text("raise KeyboardInterrupt")
    ran = command(tmp_path, "a.py")
    assert ran.returncode == -signal.SIGINT and "KeyboardInterrupt" in ran.stderr


def test_findings_are_reported(tmp_path: Path) -> None:
    """In the format that is asked for; torch's traceback bears a note where this Python has notes."""
    (tmp_path / "a.py").write_text(BROKEN)
    ran = command(tmp_path, "--output-format", "concise", "a.py")
    assert ran.returncode == 1 and ran.stdout == ""
    assert "a.py:3:1: error: GRD101 leaf-inplace" in ran.stderr
    assert "gradlint/" not in ran.stderr and "overrides.py" not in ran.stderr
    if sys.version_info >= (3, 11):
        assert "gradlint: add_ at a.py:3; the tensor was made at a.py:2" in ran.stderr


def test_findings_go_to_a_file(tmp_path: Path) -> None:
    """Of which standard error says nothing."""
    (tmp_path / "a.py").write_text(BROKEN)
    ran = command(tmp_path, "--output-format", "json", "-o", "found.json", "a.py")
    assert "GRD101" not in ran.stderr
    assert [one["code"] for one in json.loads((tmp_path / "found.json").read_text())] == ["GRD101"]


def test_comments_silence_and_configuration_selects(tmp_path: Path) -> None:
    """By the rules of a check."""
    (tmp_path / "a.py").write_text(BROKEN.replace("x += 1", "x += 1  # noqa: GRD101"))
    assert "leaf-inplace" not in command(tmp_path, "a.py").stderr
    (tmp_path / "b.py").write_text(BROKEN)
    assert "leaf-inplace" not in command(tmp_path, "--ignore", "GRD101", "b.py").stderr


def test_an_error_that_is_caught_is_none(tmp_path: Path) -> None:
    """The program has meant to try."""
    caught = BROKEN.replace("x += 1", "try:\n    x += 1\nexcept RuntimeError:\n    pass")
    (tmp_path / "a.py").write_text(caught)
    ran = command(tmp_path, "a.py")
    assert ran.returncode == 0 and "leaf-inplace" not in ran.stderr


LATE = """
import torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(9):
    optimizer.zero_grad()
    (w * 2).sum().backward()
    optimizer.step()
w += 1
"""


def test_an_error_between_samples_says_how_to_see_it(tmp_path: Path) -> None:
    """Both ends are there with --all, and in what a check of the file finds."""
    (tmp_path / "a.py").write_text(LATE)
    ran = command(tmp_path, "--iterations", "2", "a.py")
    assert "leaf-inplace" in ran.stderr and "while nothing was watched: `--all` watches all of it" in ran.stderr
    assert "in the 2 of 9 iterations that were watched; 1 finding" in ran.stderr
    ran = command(tmp_path, "--all", "a.py")
    assert "leaf-inplace" in ran.stderr and "nothing was watched" not in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--all", "--every", "3", "a.py"), "--all excludes --iterations and --every"),
        (("--iterations", "0", "a.py"), "--iterations"),
        ((), "name a script, or a module with -m"),
        (("nothing.py",), "nothing.py: no such file or directory"),
        ((".",), ".: is a directory; name a script, or a module with -m"),
        (("a.ipynb",), "a.ipynb: this runs Python files; in a notebook, watch a block with `gradlint.watch()`"),
        (("--nothing", "a.py"), "--nothing"),
        (("-o", "nowhere/found.txt", "a.py"), "there is no directory nowhere"),
        (("--select", "XYZ", "a.py"), "XYZ"),
        (("--summary", "run.txt", "a.py"), "run.txt: the name ends neither in .json nor in .html"),
        (("--summary", "nowhere/run.json", "a.py"), "there is no directory nowhere"),
    ],
)
def test_bad_usage_is_one_line(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Before anything runs."""
    (tmp_path / "a.py").write_text("print('ran')")
    (tmp_path / "a.ipynb").write_text("{}")
    ran = command(tmp_path, *arguments)
    assert ran.returncode == 2 and ran.stdout == ""
    assert said in ran.stderr and ran.stderr.count("\n") == 1


def test_forks_and_threads_are_not_watched(tmp_path: Path) -> None:
    """They run as ever, and nothing is printed twice."""
    (tmp_path / "a.py").write_text(
        "import os, threading, torch\n"
        "x = torch.ones(2, requires_grad=True)\n"
        "one = threading.Thread(target=lambda: (x * 2).sum().backward())\none.start()\none.join()\n"
        "if os.fork() == 0:\n    (x * 2).sum().backward()\n    os._exit(0)\nos.wait()\nprint(x.grad.tolist())\n"
    )
    ran = command(tmp_path, "a.py")
    assert ran.stdout == "[2.0, 2.0]\n" and ran.stderr.count("\n") == 1, ran.stderr


def test_training_in_another_thread_is_named(tmp_path: Path) -> None:
    """In one line, and only once."""
    (tmp_path / "a.py").write_text(
        "import threading, torch\n"
        "def train():\n"
        "    x = torch.ones(2, requires_grad=True)\n"
        "    optimizer = torch.optim.SGD([x], lr=0.1)\n"
        "    for _ in range(3):\n        x.sum().backward()\n        optimizer.step()\n"
        "one = threading.Thread(target=train)\none.start()\none.join()\n"
    )
    ran = command(tmp_path, "a.py")
    assert ran.returncode == 0 and ran.stderr.count("another thread steps an optimizer") == 1, ran.stderr


FORKED = """
import os, torch
x = torch.ones(2, requires_grad=True)
x.sum().backward()
child = os.fork()
if child:
    os.waitpid(child, 0)
"""


def test_a_forked_process_reports_nothing(tmp_path: Path) -> None:
    """Also where it runs to the end of the program."""
    (tmp_path / "a.py").write_text(FORKED)
    assert command(tmp_path, "a.py").stderr.count("\n") == 1


WORKERS = """
import multiprocessing
import torch
from torch.utils.data import DataLoader, TensorDataset

def work(number):
    return float((torch.ones(2, requires_grad=True) * number).sum().detach())

if __name__ == "__main__":
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for (x,) in DataLoader(TensorDataset(torch.randn(8, 2)), batch_size=4, num_workers=1):
        optimizer.zero_grad()
        model(x).pow(2).mean().backward()
        optimizer.step()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [1, 2]))
"""


def test_workers_work(tmp_path: Path) -> None:
    """Those of a loader, which are forked, and those that import the program again."""
    (tmp_path / "a.py").write_text(WORKERS)
    ran = command(tmp_path, "a.py")
    assert ran.returncode == 0 and ran.stdout == "[2.0, 4.0]\n", ran.stderr
    assert ran.stderr.count("gradlint:") == 1 and "2 steps; 0 findings" in ran.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("import sys\nsys.modules['torch'] = None\nimport torch", "this Python has no torch: nothing was watched"),
        ("import old\nimport torch", "torch 2.1.0 is older than 2.2: nothing is watched"),
    ],
)
def test_torch_that_cannot_be_watched(text: str, said: str, tmp_path: Path) -> None:
    """One line says so."""
    (tmp_path / "old.py").write_text("import sys; sys.path.insert(0, 'old')")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "torch.py").write_text("__version__ = '2.1.0'")
    (tmp_path / "a.py").write_text(text)
    ran = command(tmp_path, "a.py")
    assert ran.stderr.splitlines()[-1] == f"gradlint: {said}"


def test_a_report_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """Of a program that has ended well; the code of one that has not stays."""
    (tmp_path / "a.py").write_text("import torch, shutil, sys\nshutil.rmtree('out')\nsys.exit(int(sys.argv[1]))")
    for given, code in (("0", 2), ("5", 5)):
        (tmp_path / "out").mkdir()
        ran = command(tmp_path, "--summary", "out/run.json", "a.py", given)
        assert ran.returncode == code and "gradlint: error: out/run.json: cannot be written" in ran.stderr
