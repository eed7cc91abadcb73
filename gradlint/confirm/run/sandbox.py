"""The process that executes repros, as its user sees it: start it, ask it, end it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import secrets
import site
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import IO, Any

from gradlint.confirm.gate.admit import admit
from gradlint.confirm.run.bubblewrap import Choice, command
from gradlint.confirm.run.home import Home
from gradlint.confirm.run.protocol import NOT_DECIDED, SEEDS, Ran, Request, decode, patience

_ROOT = Path(__file__).resolve().parents[3]
_START_SECONDS = 120.0
_LONGEST_ANSWER = 1 << 20
_STEP_SECONDS = 0.2
_STEP_COSTS = 0.05
"""A run is one step, and one more for each time that it computes so long; what a usual run takes is the cost of one."""

_DID_NOT_START = "the process that imports torch did not start"
_GRACE_SECONDS = 10.0
"""What the worker may take beyond the time that it waits for a repro before it is given up itself."""

# The directory of the checked program must not be where modules come from: it may hold a `torch.py`. In isolated
# mode Python looks into its own directories only; ours joins them only to load the worker, which must not be that of
# another gradlint: it comes first, and what some start-up file of Python has imported by that name is dropped.
_START = """
import sys
sys.path.extend(path for path in {site!r} if path not in sys.path)
try:
    import torch
except ImportError as error:
    print('{{"missing": "torch cannot be imported"}}', flush=True)
    raise SystemExit(0)
for name in [name for name in sys.modules if name.split('.')[0] == 'gradlint']:
    del sys.modules[name]
sys.path.insert(0, {root!r})
from gradlint.confirm.worker.serve import serve
sys.path.remove({root!r})
serve(fork={fork!r}, without={without!r})
"""


class TorchMissingError(Exception):
    """There is no torch to ask."""


class Sandbox:
    """A worker with torch loaded; each run has a child of its own, or a fresh worker where there is no fork.

    A context manager. The worker starts with the first run, or with `start`.
    """

    def __init__(
        self, fork: bool = hasattr(os, "fork"), *, around: Choice = "none", without: Collection[str] = ()
    ) -> None:
        """`around` is what stands around the worker; `without` names walls to leave out, for tests of the others."""
        self._fork = fork
        self._around = around
        self._without = frozenset(without)
        self._process: subprocess.Popen[bytes] | None = None
        self._home: Home | None = None
        self._lines: queue.SimpleQueue[bytes] | None = None
        self._steps = 0
        self.undecided: str | None = None
        """What is said of a run that was given up by the clock, if there was one since this was set to None."""
        self.walls: tuple[str, ...] = ()
        self.torch: str = ""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def home(self) -> str:
        """The working directory of the worker, to which no repro adds anything."""
        assert self._home is not None, "a sandbox that has not been started has none"
        return self._home.path

    def clock(self) -> float:
        """Return what all runs have cost, in seconds of a usual machine: each the same, unless it computes long.

        On a busy machine the same work takes more time, and ends at the same deadline all the same. After a run that
        was given up by the clock no time is left.
        """
        return math.inf if self.undecided is not None else self._steps * _STEP_COSTS

    def start(self) -> None:
        """Start the worker and wait until it has torch.

        Raises:
            TorchMissingError: there is none, or it does not start.
            UnavailableError: what shall stand around the worker cannot.
        """
        if self._process is not None:
            return
        if self._home is None:
            self._home = Home()
        around = command(self._around, self._home.path)
        hello = self._greeted(around)
        if "missing" in hello and around and self._around == "auto":
            # Its folders may be elsewhere than Python says.
            self._kill()
            around, hello = [], self._greeted([])
        if "missing" in hello:
            self.close()
            raise TorchMissingError(hello["missing"])
        self.walls, self.torch = (*(["bubblewrap"] if around else []), *hello["walls"]), hello["torch"]

    def _greeted(self, around: Sequence[str]) -> dict[str, Any]:
        """Start the worker in what stands around it, and return what it says of itself."""
        assert self._home is not None, "the worker runs in its directory"
        paths = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
        start = _START.format(site=paths, root=str(_ROOT), fork=self._fork, without=sorted(self._without))
        self._process = subprocess.Popen(
            [*around, sys.executable, "-I", "-B", "-c", start],
            cwd=self._home.path,
            env=_environment(self._home.path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._process.stdout is not None, "the process has a pipe for its output"
        self._lines = queue.SimpleQueue()
        threading.Thread(target=_read, args=(self._process.stdout, self._lines), daemon=True).start()
        line = self._answer(_START_SECONDS)
        hello: dict[str, Any] = json.loads(line) if line else {"missing": _DID_NOT_START}
        return hello

    def run(
        self,
        script: str,
        probes: tuple[str, ...] = (),
        seconds: float = 2.0,
        slips: tuple[str, ...] = (),
        seed: int = SEEDS[0],
    ) -> Ran:
        """Execute a repro, then evaluate the probes in its names if it ran through; nobody passes without the gate.

        `slips` are names of attributes that are said to be nobody's: where they are, they may be read.
        """
        reasons = admit(script, probes, slips)
        if reasons:
            return Ran("denied", message=reasons[0])
        return self._run(Request(script, probes, seconds, secrets.token_hex(16), slips, seed=seed))

    def run_past_the_gate(
        self,
        script: str,
        probes: tuple[str, ...],
        seconds: float,
        slips: tuple[str, ...] = (),
        seed: int = SEEDS[0],
        *,
        watched: bool = False,
    ) -> Ran:
        """For the tests of the walls alone: what `admit` objects to must not come here."""
        return self._run(Request(script, probes, seconds, secrets.token_hex(16), slips, watched, seed))

    def _run(self, request: Request) -> Ran:
        self.start()
        begun, seconds = time.monotonic(), request.seconds
        line = self._ask(request, patience(seconds) + (_GRACE_SECONDS if self._fork else 0.0))
        taken = time.monotonic() - begun
        ran = decode(line, request.token)
        # Without fork the process of the worker was that of the repro, and has seen enough.
        if ran is None or not self._fork:
            self._kill()
            ran = (ran or _no_answer(taken, seconds, by_clock=self._fork))._replace(seconds=taken)
        if (ran.message or "").startswith(NOT_DECIDED):
            self.undecided = ran.message
        self._steps += 1 + int(ran.seconds / _STEP_SECONDS)
        return ran

    def close(self) -> None:
        """End the worker and remove its directory."""
        self._kill()
        if self._home is not None:
            self._home.remove()
            self._home = None

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def _ask(self, request: Request, seconds: float) -> str:
        """Return the line that answers, or nothing if it does not come in time."""
        assert self._process is not None and self._process.stdin is not None, "start leaves a process with pipes"
        try:
            self._process.stdin.write(json.dumps(request._asdict()).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            return ""
        return self._answer(seconds)

    def _answer(self, seconds: float) -> str:
        """Return the next line of the worker, or nothing if it does not come in time."""
        assert self._lines is not None, "a started worker is read from"
        try:
            return self._lines.get(timeout=seconds).decode(errors="replace")
        except queue.Empty:
            return ""


def _no_answer(taken: float, seconds: float, *, by_clock: bool) -> Ran:
    if taken >= patience(seconds) and by_clock:
        return Ran("timeout", message=f"{NOT_DECIDED} no answer within {patience(seconds):g} s by the clock")
    if taken >= seconds:
        return Ran("timeout", message=f"no end within {seconds:g} s")
    return Ran("crashed", message="the process of the repro died")


def _read(pipe: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    """Move lines from a pipe to a queue, which can be waited on for a time on every system; end with the pipe."""
    with contextlib.suppress(ValueError, OSError):  # The pipe is closed from the other side of this process.
        while line := pipe.readline(_LONGEST_ANSWER):
            lines.put(line)
    lines.put(b"")


def _environment(home: str) -> dict[str, str]:
    """As good as empty: nothing of the user's own; Windows cannot start a process without its root."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    # One thread: repros are tiny, and a fork must not happen while a pool has threads.
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    # Torch imports what other packages register as devices.
    return {**kept, **threads, "HOME": home, "TMPDIR": home, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
