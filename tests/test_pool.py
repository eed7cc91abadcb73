"""Several processes that check: what they find is what one finds, and none of them is missed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from gradlint.check import check_paths
from gradlint.checker import Checker, Task
from gradlint.examine import INTERPRET
from gradlint.outcome import Outcome
from gradlint.pool import Pool
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.source.discover import Discovery
from tests.harness.notebooks import notebook

ROOT = Path(__file__).resolve().parents[1]
LEAF = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
HELPER = "import torch\n\n\ndef write(w):\n    w += 1\n"
CALLER = "import torch\nfrom .helper import write\n\nwrite(torch.ones(3, requires_grad=True))\n"
FORKS = pytest.mark.parametrize("forks", [True, False])


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages whose files show something in each other, a broken file, and a notebook with a remark."""
    monkeypatch.chdir(tmp_path)
    for number in range(4):
        folder = tmp_path / f"package{number}"
        folder.mkdir()
        for name, text in {
            "__init__": "",
            "helper": HELPER,
            "caller": CALLER,
            "leaf": LEAF,
            "broken": "import torch\n(",
        }.items():
            (folder / f"{name}.py").write_text(text)
    (tmp_path / "book.ipynb").write_text(notebook(LEAF))
    return tmp_path


def checked(checker: Checker, forks: bool) -> tuple[Any, ...]:
    """What each file of the current directory comes to, in two processes."""
    files = Discovery(Configs(Config())).files(["."])
    with Pool(checker, 2, forks=forks) as pool:
        return tuple(pool.perform([Task(found) for found in files]))


@FORKS
def test_each_answers_what_one_process_would(tree: Path, forks: bool) -> None:
    """In the same order, whichever was done first."""
    files = Discovery(Configs(Config())).files(["."])
    checker = Checker()
    assert checked(Checker(), forks) == tuple(checker.perform(Task(found)) for found in files)


def test_the_outcome_is_the_same(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of what files show in each other."""
    monkeypatch.setattr("gradlint.workers._SHARE", 1)
    one, two = (check_paths(["."], Config(), jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert sum(finding.filename.endswith("helper.py") for finding in one.findings) == 4


def die(*arguments: Any, **named: Any) -> Any:
    """End the process in the midst of a file of a certain name."""
    if os.path.basename(arguments[2]) == "leaf.py":
        os.kill(os.getpid(), signal.SIGKILL)
    return INTERPRET(*arguments, **named)


@FORKS
def test_a_process_that_dies_is_one_line(tree: Path, forks: bool) -> None:
    """For the file that it was checking; another takes its place."""
    files = checked(Checker(interpret=die), forks)
    lines = [crash.line for crash in Outcome(files).crashes]
    why = "the process that checked it was killed by signal 9; please report it"
    assert lines == [f"internal error in package{number}/leaf.py: {why}" for number in range(4)]
    assert sum(bool(file.findings) for file in files) == 5, "each broken file, and the notebook"


@FORKS
def test_no_process_is_left(tree: Path, forks: bool) -> None:
    """When the block is left by an exception."""
    with pytest.raises(RuntimeError, match="enough"), Pool(Checker(), 2, forks=forks) as pool:
        processes = pool._processes
        raise RuntimeError("enough")
    assert [process.wait() for process in processes] == [-signal.SIGKILL] * 2


def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    """At once, in one line, while all processes work."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text(
            "import torch\n" + "w = torch.ones(3, requires_grad=True)\nw += 1\n" * 20_000
        )
    command = [sys.executable, "-m", "gradlint", "check", "--isolated", "--jobs", "2", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=pipe,
        stderr=pipe,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        while len(children := _children(process.pid)) < 2:
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, out, err.strip()) == (130, "", "gradlint: interrupted")
    assert not any(os.path.exists(f"/proc/{child}") for child in children)


def _children(pid: int) -> list[str]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = status.read_text().rpartition(")")[2].split()[1]
        except OSError:  # It has just ended.
            continue
        if parent == str(pid):
            found.append(status.parent.name)
    return found


@pytest.mark.parametrize("number", ["0", "-1", "many", "1.5", ""])
def test_a_wrong_number_is_refused(number: str, tmp_path: Path) -> None:
    """In one line."""
    command = [sys.executable, "-m", "gradlint", "check", f"--jobs={number}", "."]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gradlint: error:") and f"`{number}` is neither a number" in done.stderr


def test_the_order_of_files_changes_nothing(tmp_path: Path) -> None:
    """Where a chain of imports is longer than it is followed, or runs in a circle, by whichever file it is entered."""
    for number in range(14):
        below = f"from .m{number + 1} import make\n" if number < 13 else "import torch\n"
        (tmp_path / f"m{number}.py").write_text(
            f"{below}import torch\n\n\ndef make{number}():\n    return torch.ones(2)\n"
        )
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "m13.py").write_text(
        "import torch\nfrom . import m11\n\n\ndef make():\n    return torch.ones(3, requires_grad=True)\n"
    )
    for number in (0, 5, 12):
        (tmp_path / f"use{number}.py").write_text(f"import torch\nfrom .m{number} import make\n\nw = make()\nw += 1\n")
    files = Discovery(Configs(Config())).files([str(tmp_path)])
    used = [found for found in files if found.name.rpartition("/")[2].startswith("use")]
    assert len(used) == 3
    results = []
    for order in permutations(used):
        checker = Checker()
        found = {file.name: checker.perform(Task(file)) for file in order}
        results.append([found[file.name] for file in used])
    assert all(one == results[0] for one in results)
    assert [bool(one.findings) for one in results[0]] == [False, True, True]
