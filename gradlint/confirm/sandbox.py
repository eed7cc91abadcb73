"""The process that executes repros, as its user sees it: start it, ask it, end it."""

from __future__ import annotations

import json
import os
import select
import site
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Literal

from gradlint.confirm.ran import Ran

Device = Literal["cpu", "meta"]

_ROOT = Path(__file__).resolve().parents[2]
_START_SECONDS = 120.0
_GRACE_SECONDS = 10.0
"""What the worker may take beyond a repro's own time before it is given up itself."""

# The directory of the checked program must not be where modules come from: it may hold a `torch.py`. In isolated
# mode Python looks into its own directories only; ours joins them at the end, and only to load the worker.
_START = """
import sys
sys.path.extend(path for path in {site!r} if path not in sys.path)
try:
    import torch
except ImportError as error:
    print('{{"missing": "torch cannot be imported"}}', flush=True)
    raise SystemExit(0)
sys.path.append({root!r})
from gradlint.confirm.worker.serve import serve
sys.path.remove({root!r})
serve(fork={fork!r})
"""


class TorchMissingError(Exception):
    """There is no torch to ask."""


class Sandbox:
    """A worker with torch loaded; each run has a child of its own, or a fresh worker where there is no fork.

    A context manager. The worker starts with the first run, or with `start`.
    """

    def __init__(self, fork: bool = hasattr(os, "fork")) -> None:
        self._fork = fork
        self._process: subprocess.Popen[bytes] | None = None
        self._home: tempfile.TemporaryDirectory[str] | None = None
        self.walls: tuple[str, ...] = ()
        self.torch: str = ""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the worker and wait until it has torch; raises `TorchMissingError` if there is none."""
        if self._process is not None:
            return
        if self._home is None:
            self._home = tempfile.TemporaryDirectory(prefix="gradlint-", ignore_cleanup_errors=True)
        paths = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
        start = _START.format(site=paths, root=str(_ROOT), fork=self._fork)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-B", "-c", start],
            cwd=self._home.name,
            env=_environment(self._home.name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        hello = self._answer(_START_SECONDS)
        if hello is None:
            self.close()
            raise TorchMissingError("the process that imports torch did not start")
        if "missing" in hello:
            self.close()
            raise TorchMissingError(hello["missing"])
        self.walls, self.torch = tuple(hello["walls"]), hello["torch"]

    def run(self, script: str, probes: tuple[str, ...] = (), device: Device = "cpu", seconds: float = 2.0) -> Ran:
        """Execute a repro, then evaluate the probes in its names if it ran through.

        Only what `admit` has no objection to may come here.
        """
        self.start()
        process = self._process
        assert process is not None and process.stdin is not None, "start leaves a process with pipes"
        begun = time.monotonic()
        request = {"script": script, "probes": probes, "device": device, "seconds": seconds}
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answer = self._answer(seconds + _GRACE_SECONDS if self._fork else seconds)
        except BrokenPipeError:
            answer = None
        taken = time.monotonic() - begun
        if answer is None:
            self._kill()
            slow = taken >= seconds
            message = f"no end within {seconds:g} s" if slow else "the process of the repro died"
            return Ran("timeout" if slow else "crashed", message=message, seconds=taken)
        if not self._fork:
            self._kill()
        return Ran.from_json({**answer, "seconds": taken})

    def close(self) -> None:
        """End the worker and remove its directory."""
        self._kill()
        if self._home is not None:
            self._home.cleanup()
            self._home = None

    def _kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        """The next line of the worker, or None if it does not come in time."""
        assert self._process is not None and self._process.stdout is not None, "only a started worker answers"
        line = _line_within(self._process.stdout, seconds)
        if not line.endswith(b"\n"):
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer


def _line_within(pipe: IO[bytes], seconds: float) -> bytes:
    """What comes until the end of the line, the end of the pipe, or the end of the time."""
    end, parts = time.monotonic() + seconds, bytearray()
    while not parts.endswith(b"\n"):
        if not select.select([pipe], [], [], max(0.0, end - time.monotonic()))[0]:
            break
        part = os.read(pipe.fileno(), 1 << 16)
        if not part:
            break
        parts += part
    return bytes(parts)


def _environment(home: str) -> dict[str, str]:
    """As good as empty: nothing of the user's own; Windows cannot start a process without its root."""
    kept = {name: os.environ[name] for name in ("SYSTEMROOT", "LD_LIBRARY_PATH") if name in os.environ}
    # One thread: repros are tiny, and a fork must not meet the threads of a pool.
    return {**kept, "HOME": home, "TMPDIR": home, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
