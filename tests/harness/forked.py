"""Run something in a process of its own, and read what it says."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from typing import Any


def forked(act: Callable[[], Any], seconds: int) -> tuple[Any, int]:
    """Return what an act returns in a forked process, as JSON carries it, and how the process ended.

    The answer is None where there is none, as after so many seconds, or a crash.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        signal.alarm(seconds)
        with os.fdopen(writing, "w") as pipe:
            pipe.write(json.dumps(act()))
        os._exit(0)  # At once: the parent's cleanup belongs to the parent.
    os.close(writing)
    with os.fdopen(reading) as pipe:
        answer = pipe.read()
    _, status = os.waitpid(pid, 0)
    return json.loads(answer) if answer else None, status
