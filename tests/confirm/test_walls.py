"""Each wall of the Linux kernel by itself, in a plain Python without the others in front of it."""

from __future__ import annotations

import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in {"x86_64", "aarch64"},
    reason="these walls are those of the Linux kernel on two machines",
)

FILTER = """
import os, signal, socket, sys, threading
from gradlint.confirm.run import syscalls
from gradlint.confirm.worker import kernel
kernel.give_up_privileges()
syscalls.Filter().install()
"""


def run(program: str, *arguments: str, seconds: int = 30) -> subprocess.CompletedProcess[str]:
    """What a program does in a fresh Python."""
    command = [sys.executable, "-B", "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=seconds)


@pytest.mark.parametrize(
    "deed",
    [
        "os.open(sys.argv[1], os.O_WRONLY)",
        "os.open(sys.argv[1] + '-new', os.O_CREAT)",
        "os.unlink(sys.argv[1])",
        "os.rename(sys.argv[1], sys.argv[1] + '-moved')",
        "os.mkdir(sys.argv[1] + '-folder')",
        "os.chmod(sys.argv[1], 0)",
        "os.truncate(sys.argv[1], 0)",
        "os.fork()",
        "os.execv('/bin/true', ['true'])",
        "os.kill(os.getppid(), 9)",
        "socket.socket()",
        "threading.Thread(target=print).start()",
    ],
)
def test_the_filter_ends_a_process(deed: str, tmp_path: Path) -> None:
    """By the signal for a bad system call, and nothing has happened."""
    file = tmp_path / "file"
    file.write_text("kept", encoding="utf-8")
    ended = run(FILTER + deed, str(file))
    assert ended.returncode == -signal.SIGSYS, ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert file.read_text(encoding="utf-8") == "kept"


def test_the_filter_lets_a_process_compute_and_read(tmp_path: Path) -> None:
    """And end by itself, or by a signal of its own."""
    file = tmp_path / "file"
    file.write_text("kept", encoding="utf-8")
    read = run(
        FILTER + "print(open(sys.argv[1]).read(), sum(range(10)), len(bytes(10**8)), len(os.urandom(3)))", str(file)
    )
    assert (read.stdout, read.returncode) == ("kept 45 100000000 3\n", 0)
    assert run(FILTER + "os.abort()").returncode == -signal.SIGABRT


def test_files_are_read_below_the_folders_only(tmp_path: Path) -> None:
    """Neither a path nor a link leads out."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("secret", encoding="utf-8")
    (inside / "file").write_text("public", encoding="utf-8")
    (inside / "link").symlink_to(outside)
    program = """
import sys
from gradlint.confirm.worker import kernel
kernel.give_up_privileges()
kernel.read_only_below([sys.argv[1]])
for name, mode in (("file", "r"), ("link", "r"), ("../outside", "r"), ("file", "w"), ("new", "w")):
    try:
        print(open(sys.argv[1] + "/" + name, mode).read())
    except PermissionError:
        print("refused")
"""
    ended = run(program, str(inside))
    if "Function not implemented" in ended.stderr or "Operation not supported" in ended.stderr:
        pytest.skip("this kernel has no Landlock")
    assert ended.stdout.split() == ["public", "refused", "refused", "refused", "refused"], ended.stderr


def test_nobody_is_on_the_network() -> None:
    """Not even this machine."""
    program = """
import socket, sys
from gradlint.confirm.worker import kernel
try:
    kernel.leave_the_network()
except OSError:
    print("no namespace")
    raise SystemExit
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])))
except OSError:
    print("alone")
"""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = run(program, str(server.getsockname()[1]))
    if ended.stdout == "no namespace\n":
        pytest.skip("this system lets nobody make a network")
    assert ended.stdout == "alone\n", ended.stderr


def test_who_is_no_administrator_has_the_same_walls() -> None:
    """Without any capability of the kernel the sandbox starts, torch raises in it, and the walls are as many."""
    pytest.importorskip("torch", reason="torch is not installed, and there is nothing to execute")
    program = """
import sys
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.worker import kernel
if sys.argv[1] == "plain":
    kernel.give_up_privileges()
with Sandbox() as sandbox:
    ran = sandbox.run("import torch\\nx = torch.ones(2, requires_grad=True)\\nx += 1\\n", seconds=20.0)
    print(*sandbox.walls, ran.error_type)
"""
    ended = [run(program, who, seconds=300).stdout.split() for who in ("plain", "as is")]
    assert ended[0][-1] == "RuntimeError"
    # A system may let only administrators make a network.
    assert set(ended[0]) >= set(ended[1]) - {"network"}
