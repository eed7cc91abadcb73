"""Asking torch: one worker for the whole test run, each program executed once and remembered."""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import IO

import pytest

from tests.harness.program import Outcome

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 30.0


class TorchWorker:
    """A child process with torch loaded that executes one program after the other."""

    def __init__(self) -> None:
        """Start the process; it needs some seconds before it answers the first request."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.harness.worker"],
            cwd=_ROOT,
            # One thread: programs are tiny, and a fork must not meet the threads of a pool.
            env={**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, shows: str | None = None, seconds: float = _SECONDS) -> Outcome:
        """Execute a program, and evaluate `shows` in its names if it ran through."""
        requests, answers = _pipe(self._process.stdin), _pipe(self._process.stdout)
        requests.write(json.dumps({"code": code, "shows": shows, "seconds": seconds}) + "\n")
        requests.flush()
        answer = answers.readline()
        if not answer:
            raise RuntimeError(f"the torch worker ended with status {self._process.wait()}")
        return Outcome.from_json(json.loads(answer))

    def close(self) -> None:
        """End the process by ending its input."""
        self._process.communicate()


def run_under_torch(code: str, shows: str | None = None) -> Outcome:
    """What torch does with a program; the calling test is skipped, visibly, where there is no torch."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed, and nothing else can say what torch does")
    return _outcome(code, shows)


@cache
def _outcome(code: str, shows: str | None) -> Outcome:
    return _worker().run(code, shows)


@cache
def _worker() -> TorchWorker:
    worker = TorchWorker()
    atexit.register(worker.close)
    return worker


def _pipe(pipe: IO[str] | None) -> IO[str]:
    if pipe is None:
        raise AssertionError("the worker is started with pipes for its input and output")
    return pipe
