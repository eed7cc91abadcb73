"""Results of earlier runs: a run with them finds what one without them finds, and checks again only what it must."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gradlint import results as results_module
from gradlint.check import check_paths
from gradlint.checker import Checker, Progress, Task
from gradlint.outcome import Checked, Outcome
from gradlint.results import Results
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.source.kept import FOLDER, Kept
from tests.environment.test_environment import CUT, install
from tests.harness.notebooks import notebook

ROOT = str(Path(__file__).resolve().parents[1])
KEY = b"a secret of 32 bytes, or so, here"
LEAF = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
WRITES = "import torch\n\n\ndef change(w):\n    w += 1\n    return w\n"
KEEPS = "import torch\n\n\ndef change(w):\n    return w + 1\n"
CALLS = "import torch\nfrom {module} import change\n\nw = torch.ones(3, requires_grad=True)\nchange(w)\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in which files show something in each other, a script beside it, and a notebook."""
    root = tmp_path / "tree"
    texts = {
        "pyproject.toml": "",
        "lib/__init__.py": "",
        "lib/change.py": WRITES,
        "lib/again.py": "from .change import change\n",
        "lib/call.py": CALLS.format(module=".change"),
        "lib/call_again.py": CALLS.format(module=".again"),
        "script.py": CALLS.format(module="lib.again"),
        "leaf.py": LEAF,
        "plain.py": "x = 1\n",
        "make.py": "def make():\n    return 1\n",
        "runs.py": "from make import make\n\nmake()\n",
        "book.ipynb": notebook(LEAF),
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    monkeypatch.chdir(root)
    return root


Performed = list[str]


def run(performed: Performed | None = None) -> Outcome:
    """Check the current directory as the command line does, and note what was not known from an earlier run."""
    checker = Checker()
    results = Results(Kept(Path(FOLDER)), checker, KEY)
    seen: Performed = [] if performed is None else performed
    original = checker.perform

    def noted(task: Task) -> Checked:
        seen.append(task.found.name)
        return original(task)

    checker.perform = noted  # type: ignore[method-assign]
    return check_paths(["."], configs=Configs(), checker=checker, results=results)


def cold() -> Outcome:
    """The same without earlier runs."""
    return check_paths(["."], configs=Configs())


def test_nothing_is_checked_twice(tree: Path) -> None:
    """And all is the same, down to the texts and the remarks."""
    assert run() == cold()
    performed: Performed = []
    outcome = run(performed)
    assert outcome == cold() and outcome.findings
    assert performed == []


EDITS: dict[str, tuple[Callable[[], object], set[str]]] = {
    "a file that nobody imports": (lambda: Path("leaf.py").write_text(LEAF + "w *= 2\n"), {"leaf.py"}),
    "a file that others import": (
        lambda: Path("lib/change.py").write_text(KEEPS),
        {"lib/change.py", "lib/again.py", "lib/call.py", "lib/call_again.py", "script.py"},
    ),
    "a file that takes the place of another": (lambda: Path("lib.py").write_text("again = 1\n"), set()),
    "a file without torch": (lambda: Path("plain.py").write_text("x = 2\n"), set()),
    "what a script without torch runs": (
        lambda: Path("make.py").write_text(f"{WRITES}\n\nmake = change\n"),
        {"make.py", "runs.py"},
    ),
    "a time only": (lambda: Path("leaf.py").write_text(LEAF), set()),
    "a suppressed rule": (
        lambda: Path("gradlint.toml").write_text("ignore = ['GRD603']\n"),
        {"lib/change.py", "lib/call.py", "lib/call_again.py", "script.py", "leaf.py", "runs.py", "book.ipynb"},
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_depends_on_a_change_is_checked_again(tree: Path, edit: str) -> None:
    """And nothing else."""
    run()
    change, expected = EDITS[edit]
    change()
    performed: Performed = []
    assert run(performed) == cold()
    assert set(performed) - {"lib/again.py"} == expected - {"lib/again.py"}


def test_random_edits(tree: Path) -> None:
    """Warm and cold are the same after each of a hundred."""
    chance = random.Random(0)
    texts = [
        LEAF,
        WRITES,
        KEEPS,
        "",
        "import torch\n(",
        "import torch\nimport sys\nsys.path.append('lib')\nimport change\n",
    ]
    modules = ("lib.change", "lib.again", ".change", ".again", "change", "lib", "lib.sub.change", "leaf")
    names = ["leaf", "script", "lib/__init__", "lib/change", "lib/again", "lib/call", "lib/sub/change", "change", "lib"]
    for step in range(100):
        path = Path(f"{chance.choice(names)}.py")
        if chance.random() < 0.2:
            path.unlink(missing_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(chance.choice([*texts, *(CALLS.format(module=module) for module in modules)]))
        assert run() == cold(), f"step {step}: {path}"


def test_what_is_installed_counts(tree: Path) -> None:
    """A package that is changed, or is there no more."""
    file = install(Path(".venv"), CUT)
    Path("use.py").write_text(
        "import torch\nfrom losslib import contrast\n\nnet = torch.nn.Linear(2, 2)\n"
        "loss = contrast(net(torch.ones(2)), torch.ones(2))\nloss.backward()\n"
    )
    run()
    before = cold()
    performed: Performed = []
    assert run(performed) == before and performed == []
    file.write_text(CUT.replace(".detach()", ""))
    after = run(performed)
    assert after == cold() and after != before
    assert performed == ["use.py"]


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "half of it": lambda content: content[: len(content) // 2],
    "nothing": lambda content: b"",
    "somebody else's": lambda content: content.replace(content[:8], b"01234567"),
    "a changed byte": lambda content: content.replace(b"GRD", b"GRE", 1),
    "another program's": lambda content: b"\x80\x04}",
    "nested deep": lambda content: b"[" * 1_000_000,
}


@pytest.mark.parametrize("way", BROKEN)
def test_what_is_broken_counts_as_nothing(tree: Path, way: str) -> None:
    """And is written again."""
    run()
    (path,) = Path(FOLDER, "results").iterdir()
    path.write_bytes(BROKEN[way](path.read_bytes()))
    assert run() == cold()
    performed: Performed = []
    run(performed)
    assert performed == []


def test_another_gradlint_starts_anew(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose files are not the same."""
    run()
    monkeypatch.setattr(results_module, "_maker", lambda: "another")
    performed: Performed = []
    run(performed)
    assert "leaf.py" in performed


def test_runs_at_the_same_time_add_up(tree: Path) -> None:
    """Each writes beside what the other has written since it began."""
    checker = Checker()
    late = Results(Kept(Path(FOLDER)), checker, KEY)
    run()
    check_paths(["leaf.py"], configs=Configs(), checker=checker, results=late)
    performed: Performed = []
    run(performed)
    assert performed == []


def test_what_nobody_uses_goes(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a month, with the questions that only it has asked."""
    run()
    path = Path(FOLDER, "results", "results-1.json")
    before = json.loads(path.read_bytes().partition(b"\n")[2])
    for name in ("lib/call.py", "lib/call_again.py", "script.py"):
        Path(name).unlink()
    later = time.time() + 40 * 24 * 60 * 60
    monkeypatch.setattr(time, "time", lambda: later)
    run()
    after = json.loads(path.read_bytes().partition(b"\n")[2])
    (old,), (new,) = before["contexts"].values(), after["contexts"].values()
    assert len(new["entries"]) < len(old["entries"]) and len(new["questions"]) < len(old["questions"])
    assert run() == cold()


def test_fixes_are_made_all_the_same(tree: Path) -> None:
    """Also where an earlier run has found what is to be fixed."""

    def mended(performed: Sequence[Task], progress: Progress | None = None, /) -> list[Checked]:
        raise AssertionError(f"nothing is left to do, and not {performed}")

    run()
    fixing = Checker(wanted=lambda finding, config, text: config.fixes(finding))
    results = Results(Kept(Path(FOLDER)), fixing, KEY)
    outcome = check_paths(["leaf.py"], Config(fix=True, unsafe_fixes=True), checker=fixing, results=results)
    assert outcome.mended
    with pytest.raises(AssertionError, match="nothing is left"):
        results.remembered(mended)([])


GRADLINT = [sys.executable, "-m", "gradlint"]


def command(*arguments: str) -> tuple[int, str, str]:
    """Run the command in the current directory: exit code, standard output, standard error."""
    done = subprocess.run(
        [*GRADLINT, *arguments], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ROOT}
    )
    return done.returncode, done.stdout, done.stderr


def test_by_the_command_line(tree: Path, tmp_path: Path) -> None:
    """The cache is beside the configuration, elsewhere, or nowhere; the output is the same."""
    none = command("check", "--no-cache", ".")
    assert none[0] == 1 and not Path(FOLDER).exists()
    assert command("check", ".") == command("check", ".") == none
    assert sorted(path.name for path in Path(FOLDER).iterdir()) == [".gitignore", "results"]
    assert command("check", "--cache-dir", "", ".")[0] == 2
    elsewhere = tmp_path / "elsewhere" / "cache"
    assert command("check", "--cache-dir", str(elsewhere), ".") == none
    assert sorted(path.name for path in elsewhere.iterdir()) == [".gitignore", "key", "results"]


def test_clean(tree: Path) -> None:
    """Deletes what gradlint has made, and nothing else."""
    folder = Path.cwd() / FOLDER
    assert command("clean") == (0, "", f"There is no {folder}.\n")
    command("check", ".")
    assert command("clean") == (0, "", f"Deleted {folder}.\n") and not folder.exists()
    Path("mine").mkdir()
    for name, content in (("notes.txt", "mine"), (".gitignore", "build/\n")):
        Path("mine", name).write_text(content)
    command("check", "--cache-dir", "mine", ".")
    assert Path("mine", ".gitignore").read_text() == "build/\n" and Path("mine", "results").is_dir()
    code, out, said = command("clean", "--cache-dir", "mine")
    assert (code, out) == (2, "") and "mine stays as it is: it holds `notes.txt`, which gradlint has not made" in said
    assert Path("mine", "notes.txt").read_text() == "mine" and Path("mine", "results").is_dir()
    Path("other").mkdir()
    folder.symlink_to("other")
    assert command("clean")[0] == 2 and folder.is_symlink() and Path("other").is_dir()


def test_a_tree_brings_no_results_of_its_own(tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where another user has checked it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "another"))
    command("check", ".")
    path = Path(FOLDER, "results", "results-1.json")
    before = path.read_bytes()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    command("check", ".")
    assert path.read_bytes() != before
