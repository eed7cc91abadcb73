"""The hostile corpus: each program is refused at the gate; and were it not, it meets walls, and proves nothing.

`CANARY` and `PORT` in a program stand for a folder with a secret and for a port where somebody listens. The programs
are executed twice: as they are, and with all builtins given back to them, to meet the walls behind that one.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gradlint.confirm.check.evidence import doubt
from gradlint.confirm.gate.admit import admit
from gradlint.confirm.run.protocol import Probed, Ran, patience
from gradlint.confirm.run.sandbox import Sandbox

HOSTILE = sorted(Path(__file__).with_name("hostile").glob("*.py"))
SECRET = "a-secret-3f9c"
SECONDS = 1.0
GRACE = 10.0
LEAF = "a leaf Variable that requires grad"
NAN = "bool(torch.isnan(w).any())"
# These do no harm, and so pass the gate; that they prove nothing is for the judge to see.
ADMITTED = {"forge_raise", "forge_print_only", "forge_assert_own"}
# Every function of Python's own leads to the module of the builtins.
FREE = "__builtins__.update(print.__self__.__dict__)\n"

every_program = pytest.mark.parametrize("path", HOSTILE, ids=lambda path: path.stem)


class Outside(NamedTuple):
    """What nothing inside may touch."""

    folder: Path
    server: socket.socket
    sandbox: Sandbox

    def text_of(self, path: Path) -> str:
        """A program with the names of this world."""
        text = path.read_text(encoding="utf-8").replace("CANARY", str(self.folder))
        return text.replace("PORT", str(self.server.getsockname()[1]))

    def state(self) -> dict[str, str]:
        """All files of the folder, of the sandbox's own, and the one of torch that a program tries to alter."""
        places = [*self.folder.rglob("*"), *Path(self.sandbox.home).rglob("*"), _torch()]
        return {str(path): _print_of(path) for path in places}

    def was_called(self) -> bool:
        """Whether somebody connected."""
        try:
            self.server.accept()
        except BlockingIOError:
            return False
        return True


class Evil:
    """What it is made of says what is done when it is loaded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self._folder / "written"),)


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """A folder, a server, and a sandbox for all programs."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    folder = tmp_path_factory.mktemp("canary")
    (folder / "secret.txt").write_text(SECRET, encoding="utf-8")
    (folder / "evil.pickle").write_bytes(pickle.dumps(Evil(folder)))
    (folder / "hubconf.py").write_text(f"open({str(folder / 'written')!r}, 'w')\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as server, Sandbox() as sandbox:
        server.setblocking(False)
        sandbox.start()
        yield Outside(folder, server, sandbox)


def test_the_corpus_is_there() -> None:
    """A corpus that nobody finds would prove nothing."""
    assert len(HOSTILE) >= 130


@every_program
def test_the_gate_refuses(path: Path) -> None:
    """With a reason; what does no harm is let through."""
    assert (admit(path.read_text(encoding="utf-8")) == []) == (path.stem in ADMITTED)


@pytest.mark.parametrize("freed", [False, True], ids=["as-is", "freed"])
@every_program
def test_the_walls_hold(outside: Outside, path: Path, freed: bool) -> None:
    """Past the gate nothing outside changes, nothing is proved, and it ends in time."""
    before, begun = outside.state(), time.monotonic()
    text = (FREE if freed else "") + outside.text_of(path)
    ran = outside.sandbox.run_past_the_gate(text, (NAN,), SECONDS)
    assert time.monotonic() - begun < patience(SECONDS) + GRACE
    assert outside.state() == before
    assert not outside.was_called()
    assert SECRET not in repr(ran)
    assert str(outside.folder / "secret.txt") in before
    assert not _proves(ran)
    assert _living(outside.sandbox) == 1


def test_the_sandbox_still_works(outside: Outside) -> None:
    """After all of them the same worker says the truth, and nobody alters the torch that it has."""
    ran = outside.sandbox.run("import torch\nx = torch.ones(2, requires_grad=True)\nx += 1\n")
    assert doubt(ran, LEAF, 3) is None


def test_without_fork_the_walls_hold(outside: Outside) -> None:
    """Each repro has a process of its own, started for it."""
    with Sandbox(fork=False) as sandbox:
        for name in ("file_write", "endless_loop", "forge_raise"):
            before = outside.state()
            text = FREE + outside.text_of(Path(__file__).with_name("hostile") / f"{name}.py")
            ran = sandbox.run_past_the_gate(text, (), SECONDS)
            assert doubt(ran, LEAF) is not None
            assert outside.state() == before
        ran = sandbox.run("import torch\nx = torch.ones(2, requires_grad=True)\nx += 1\n")
    assert doubt(ran, LEAF, 3) is None


def test_the_folder_of_the_program_holds_no_modules(tmp_path: Path) -> None:
    """A `torch.py` beside the checked program is not imported, by whatever way Python was started."""
    for name in ("torch", "math", "json"):
        (tmp_path / f"{name}.py").write_text("open('written', 'w')\n", encoding="utf-8")
    program = (
        "import sys; sys.path.remove(''); import gradlint.confirm.run.sandbox as s; sys.path.insert(0, '');"
        "print(s.Sandbox().run('import torch, math\\nx = math.pi').outcome)"
    )
    environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert told.stdout == "finished\n"
    assert not (tmp_path / "written").exists()


def _proves(ran: Ran) -> bool:
    """Whether a run shows the error, or the effect: torch neither raises nor computes a NaN in any of the programs."""
    return doubt(ran, LEAF) is None or (ran.outcome == "finished" and ran.values == (Probed(True),))


def _living(sandbox: Sandbox) -> int:
    """The processes of the sandbox: all that it starts have its home in the environment that they began with."""
    mark, found = f"HOME={sandbox.home}\0".encode(), 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += mark in (process / "environ").read_bytes()
        except OSError:
            continue  # It ended meanwhile, or is somebody else's.
    return found if Path("/proc/self/environ").exists() else 1


def _torch() -> Path:
    import torch

    return Path(torch.__file__)


def _print_of(path: Path) -> str:
    if not path.is_file():
        return "a folder"
    return f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
