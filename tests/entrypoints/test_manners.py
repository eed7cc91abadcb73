"""How the real command ends: interrupted, with closed or full streams."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gradlint

SOURCE = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gradlint.__file__).parents[1])}
GRADLINT = f"{sys.executable} -m gradlint"


def in_shell(command: str, cwd: Path) -> tuple[int, str, str]:
    """Exit code, standard output, standard error of a line of shell."""
    done = subprocess.run(
        ["sh", "-c", command], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_at_once(tmp_path: Path, number: signal.Signals) -> None:
    """While a parser or the interpreter works in its thread: no traceback, no abort of Python's."""
    (tmp_path / "a.py").write_text("import torch\n" + "w = torch.ones(3, requires_grad=True)\nw += 1\n" * 20_000)
    program = (
        "import signal, sys, threading, gradlint.entrypoints.cli as cli, gradlint.checker as checker\n"
        "work = checker.Checker.perform\n"
        "def told(*arguments):\n"
        "    print('working', file=sys.stderr, flush=True)\n"
        "    return work(*arguments)\n"
        "checker.Checker.perform = told\n"
        "sys.exit(cli.main(['check', 'a.py']))\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "working\n"
        process.send_signal(number)
        assert process.wait() == (130 if number == signal.SIGINT else -signal.SIGTERM)
        assert process.stderr.read().strip() == ("gradlint: interrupted" if number == signal.SIGINT else "")


def test_standard_output_is_closed(tmp_path: Path) -> None:
    """Findings would go nowhere, or into the next file that is opened."""
    (tmp_path / "a.py").write_text(SOURCE)
    assert in_shell(f"{GRADLINT} check a.py >&-", tmp_path) == (2, "", "gradlint: error: standard output is closed\n")


def test_standard_error_is_closed(tmp_path: Path) -> None:
    """Findings are printed all the same."""
    (tmp_path / "a.py").write_text(SOURCE)
    code, out, _ = in_shell(f"{GRADLINT} check a.py 2>&-", tmp_path)
    assert (code, out.count("GRD101")) == (1, 1)


def test_standard_input_is_closed(tmp_path: Path) -> None:
    """It is as if it were empty."""
    assert in_shell(f"{GRADLINT} check - <&-", tmp_path)[:2] == (0, "")


@pytest.mark.parametrize("arguments", ["check -q a.py", "check -q a.py --output-format json", "rule --all", "op relu"])
def test_standard_output_is_full(tmp_path: Path, arguments: str) -> None:
    """One line."""
    (tmp_path / "a.py").write_text(SOURCE)
    code, _, err = in_shell(f"{GRADLINT} {arguments} >/dev/full", tmp_path)
    assert (code, err) == (2, "gradlint: error: standard output cannot be written: No space left on device\n")
