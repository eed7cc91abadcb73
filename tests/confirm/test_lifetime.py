"""What is started ends with the command that started it, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gradlint.confirm.run.home import Home
from gradlint.confirm.run.sandbox import Sandbox

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

# A worker, and a repro that says that it runs and then neither computes nor ends.
WAITING = """
import signal, sys, tempfile
# A test that runs in the background has these ignored, and so would its commands.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
sys.path.insert(0, {root!r})
tempfile.tempdir = {folder!r}
from gradlint.entrypoints.proving import prover
with prover(shrink=False) as torch:
    sandbox = torch._sandbox
    sandbox.__init__(fork={fork}, without={without})
    sandbox.start()
    print("started", flush=True)
    sandbox.run_past_the_gate("import time\\n{body}", (), 60.0)
"""
BODIES = {"sleeps": "time.sleep(600)", "computes": "while True: pass"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory for temporary ones; its name marks the processes that work in it."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def living(folder: Path) -> list[int]:
    """Return the processes that have a directory below the folder as their home."""
    mark, found = f"HOME={folder}/".encode(), []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue  # It ended meanwhile, or is somebody else's.
    return found


def until(reached: Callable[[], bool]) -> bool:
    """Wait, but not for ever, until something is the case."""
    end = time.monotonic() + 60
    while not reached() and time.monotonic() < end:
        time.sleep(0.02)
    return reached()


def started(folder: Path, body: str, *, fork: bool = True, without: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start a command whose repro runs now."""
    program = WAITING.format(root=str(ROOT), folder=str(folder), body=BODIES[body], fork=fork, without=without)
    command = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    assert command.stdout.readline() == "started\n"
    assert until(lambda: len(living(folder)) == 1 + fork)
    return command


def ended(command: subprocess.Popen[str]) -> int:
    """Return how it ended."""
    code = command.wait(60)
    assert command.stdout is not None
    command.stdout.close()
    return code


@pytest.mark.parametrize(("name", "body"), [("SIGINT", "sleeps"), ("SIGTERM", "computes"), ("SIGHUP", "sleeps")])
def test_a_command_that_is_ended_cleans_up(folder: Path, name: str, body: str) -> None:
    """Neither the worker nor its repro lives on, and the directory is removed."""
    command = started(folder, body)
    command.send_signal(getattr(signal, name))
    code = ended(command)
    assert code == (-signal.SIGINT if name == "SIGINT" else 128 + getattr(signal, name))
    assert until(lambda: not living(folder))
    assert os.listdir(folder) == []


@pytest.mark.parametrize(
    ("fork", "without", "body"),
    [
        (True, (), "sleeps"),
        (True, ("parent",), "computes"),
        (True, ("parent",), "sleeps"),
        (False, ("parent",), "computes"),
    ],
)
def test_nothing_outlives_a_command_that_is_killed(
    folder: Path, fork: bool, without: tuple[str, ...], body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the kernel's word, and where there is none by the end of a pipe; the next run removes the directory."""
    command = started(folder, body, fork=fork, without=without)
    command.kill()
    assert ended(command) == -signal.SIGKILL
    assert until(lambda: not living(folder))
    assert len(os.listdir(folder)) == 1
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    home = Home()
    assert os.listdir(folder) == [os.path.basename(home.path)]
    home.remove()
    assert os.listdir(folder) == []


def test_a_repro_ends_with_its_worker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only that is killed."""
    command = started(folder, "sleeps")
    worker, repro = sorted(living(folder))
    os.kill(worker, signal.SIGKILL)
    assert until(lambda: repro not in living(folder))
    command.kill()
    ended(command)


def test_directories_in_use_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of other runs, and what others have called alike: links, and files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kept = tmp_path / "kept"
    kept.mkdir()
    (tmp_path / "gradlint-confirm-link").symlink_to(kept)
    (tmp_path / "gradlint-confirm-file").touch()
    first, second = Home(), Home()
    assert Path(first.path).is_dir() and kept.is_dir()
    for home in (first, second):
        home.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "gradlint-confirm-file",
        "gradlint-confirm-link",
        "kept",
    ]


def test_the_worker_is_this_gradlint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one that is installed, nor one that a start-up file of Python has imported."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    package = tmp_path / "gradlint"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemError('another gradlint')\n", encoding="utf-8")
    import site

    packages = [str(tmp_path), *site.getsitepackages()]
    monkeypatch.setattr(site, "getsitepackages", lambda: packages)
    with Sandbox() as sandbox:
        assert sandbox.run("import torch\nx = 1\n", ("x",)).values[0].value == 1
