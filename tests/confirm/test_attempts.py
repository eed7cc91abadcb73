"""Attempts to leave a mark, past the gate: against all walls, against some of them alone, and against none."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from gradlint.confirm.run.bubblewrap import Choice
from gradlint.confirm.run.protocol import Ran
from gradlint.confirm.run.sandbox import Sandbox
from tests.confirm import attempts

ROOT = Path(__file__).parents[2]
ALL = {"audit", "limits", "network", "privileges", "files", "syscalls", "parent"}
ANYWHERE = {**attempts.FILES, **attempts.PROCESSES, **attempts.SHARED}
EVERY = {**ANYWHERE, **attempts.NETWORK}
STANDING: dict[str, tuple[set[str], Mapping[str, str]]] = {
    "all": (ALL, EVERY),
    "bubblewrap": ({"bubblewrap"}, EVERY),
    "audit": ({"audit"}, EVERY),
    "syscalls": ({"privileges", "syscalls"}, EVERY),
    # Of the network, Landlock knows TCP alone, and that from its fourth version on.
    "files": ({"privileges", "files"}, ANYWHERE),
}
"""The walls that stand, and the attempts that they have to stop."""

# What looks and computes; all else in `os` is refused.
HARMLESS = {
    *("stat", "lstat", "fstat", "access", "readlink", "listdir", "scandir", "walk", "getcwd", "getcwdb", "getenv"),
    *("getenvb", "get_exec_path", "getpid", "getppid", "getuid", "geteuid", "getgid", "getegid", "cpu_count"),
    *("sched_getaffinity", "process_cpu_count", "times", "uname", "sysconf", "urandom", "isatty", "get_terminal_size"),
    *("device_encoding", "strerror", "fspath", "fsencode", "fsdecode", "major", "minor", "makedev"),
    *("WCOREDUMP", "WEXITSTATUS", "WIFCONTINUED", "WIFEXITED", "WIFSIGNALED", "WIFSTOPPED", "WSTOPSIG", "WTERMSIG"),
    *("waitstatus_to_exitcode", "_exists", "_fspath", "_walk", "_get_exports_list", "_check_methods"),
    *("_create_environ_mapping", "_path_normpath", "_path_normpath_ex", "_path_splitroot_ex"),
}


class Place(NamedTuple):
    """Where marks are seen."""

    folder: Path
    server: socket.socket
    sandbox: Sandbox
    shared: str
    """What the names of shared memory begin with: they are of the whole system, and outlive a run that is killed."""

    def attempt(self, name: str, program: str) -> Ran:
        """Run one with the names of this place."""
        source = self.folder.with_suffix(".source")
        source.touch()
        text = (
            program.replace("MARK", str(self.folder / name))
            .replace("SOURCE", str(source))
            .replace("NAME", f"{self.shared}-{name}")
        )
        text = text.replace("PORT", str(self.server.getsockname()[1]))
        return self.sandbox.run_past_the_gate(attempts.FREE + text, (), 5.0)

    def marks(self) -> list[str]:
        """Return what is there: files, shared memory, and whether somebody connected."""
        shared = [path.name for path in Path("/dev/shm").glob(f"*{self.shared}-*")]
        try:
            self.server.accept()[0].close()
        except BlockingIOError:
            return [*os.listdir(self.folder), *shared]
        return [*os.listdir(self.folder), *shared, "somebody connected"]


def place(folder: Path, standing: set[str]) -> Iterator[Place]:
    """Return a sandbox with these walls alone."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    around: Choice = "auto" if "bubblewrap" in standing else "none"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Sandbox(around=around, without=ALL - standing) as sandbox,
    ):
        server.setblocking(False)
        sandbox.start()
        if not set(sandbox.walls) >= standing - {"network"}:
            pytest.skip(f"this system has only {', '.join(sandbox.walls)}")
        shared = f"{folder.name}-{secrets.token_hex(8)}"
        try:
            yield Place(folder, server, sandbox, shared)
        finally:
            for left in Path("/dev/shm").glob(f"*{shared}-*"):
                left.unlink()


HERE = [name for name, (walls, *_) in STANDING.items() if "bubblewrap" not in walls or shutil.which("bwrap")]
"""The rows for which this system has what they need."""


@pytest.fixture(scope="module", params=HERE)
def standing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Place]]:
    """Some walls, by their name in the table."""
    for one in place(tmp_path_factory.mktemp("walls"), STANDING[request.param][0]):
        yield request.param, one


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The audit hook and nothing of the kernel, as on macOS."""
    yield from place(tmp_path_factory.mktemp("audited"), {"audit"})


def test_no_attempt_leaves_a_mark(standing: tuple[str, Place]) -> None:
    """By each of these walls alone."""
    name, here = standing
    for attempt, program in STANDING[name][1].items():
        ran = here.attempt(attempt, program)
        assert here.marks() == [], (attempt, ran)
    time.sleep(0.5)  # A process might be late.
    assert here.marks() == []
    assert here.sandbox.run("import torch\nx = 1\n", ("x",)).values[0].value == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the attempts are written for Linux")
def test_without_walls_each_attempt_leaves_its_mark(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Else it would try nothing."""
    for here in place(tmp_path_factory.mktemp("open"), set()):
        before: set[str] = set()
        for attempt, program in EVERY.items():
            ran = here.attempt(attempt, program)
            end = time.monotonic() + 20
            while (now := set(here.marks())) <= before and time.monotonic() < end:
                time.sleep(0.01)
            assert now > before or "somebody connected" in now, (attempt, ran)
            before = now - {"somebody connected"}


def test_functions_of_the_system_are_refused(audited: Place) -> None:
    """All of `os` but a few that look and compute, each by a call."""
    found = audited.sandbox.run_past_the_gate(
        attempts.FREE + "import os, posix\nboth = {**vars(os), **vars(posix)}.items()\n"
        "names = [name for name, value in both if callable(value) and not isinstance(value, type)]\n",
        ("str(len(names))", *(f"' '.join(names[{start}::12])" for start in range(12))),
        5.0,
    )
    number, *names = (str(value.value) for value in found.values)
    functions = {name for text in names for name in text.split()}
    assert len(functions) == int(number) > 150
    for name in functions - HARMLESS:
        ran = audited.attempt(name, f"import os, posix\n{{**vars(os), **vars(posix)}}[{name!r}]()")
        assert (ran.outcome, str(ran.message).rpartition(".")[2]) == ("denied", name)


def test_methods_of_storages_are_gone(audited: Place) -> None:
    """Those that map files and share memory."""
    names = (
        "from_file",
        "_write_file",
        "_new_shared_filename_cpu",
        "_new_using_fd_cpu",
        "_share_fd_cpu_",
        "_set_cdata",
    )
    script = f"import torch\nleft = [name for name in {names} if hasattr(torch._C.StorageBase, name)]\n"
    ran = audited.sandbox.run_past_the_gate(attempts.FREE + script, ("str(left)",), 5.0)
    assert [value.value for value in ran.values] == ["[]"]


def test_the_dispatcher_refuses_to_map_files(tmp_path: Path) -> None:
    """By whatever way it is called: here by the function that torch had before."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    program = """
import sys, torch
from gradlint.confirm.worker import disarm
before = (torch.from_file,)
disarm.of_torch().apply()
try:
    before[0](sys.argv[1], shared=True, size=3)
except PermissionError as error:
    print(error)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "mark")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout == "aten::from_file is refused\n"
    assert not (tmp_path / "mark").exists()


def test_memory_of_the_process_is_within_reach(audited: Place) -> None:
    """Known gap: numpy reads any address, so no wall inside the process holds against all programs."""
    script = (
        "import numpy as np\nx = [1]\nclass At:\n"
        "    __array_interface__ = {'data': (id(x), True), 'typestr': '|u1', 'shape': (8,), 'version': 3}\n"
        "count = np.asarray(At())[0]\n"
    )
    ran = audited.sandbox.run_past_the_gate(attempts.FREE + script, ("int(count) > 0",), 5.0)
    assert [value.value for value in ran.values] == [True]
