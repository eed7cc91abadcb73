"""Limits that the system puts on one process: time, memory, files, processes."""

from __future__ import annotations

import math
import os
import signal
import sys
from time import process_time

MEMORY = 1 << 30
"""What a repro may have beside what torch has already taken."""

_FILES = 64


def put_on(seconds: float, taken: int | None) -> None:
    """Limit this process from here on; `taken` is the address space that torch has, if the system counts that."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the README says so.
        return
    # The timer is exact and can be taken off; the limit counts whole seconds and cannot.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    time = math.ceil(seconds + process_time()) + 1
    wanted = {
        "RLIMIT_CPU": (time, time + 1),
        "RLIMIT_FSIZE": (0, 0),
        "RLIMIT_CORE": (0, 0),
        "RLIMIT_NPROC": (0, 0),
        "RLIMIT_NOFILE": (_FILES, _FILES),
        "RLIMIT_MEMLOCK": (0, 0),
    }
    if taken is not None:
        size = taken + MEMORY
        wanted["RLIMIT_AS"] = (size, size)
    for name, (soft, hard) in wanted.items():
        if hasattr(resource, name):
            _, highest = resource.getrlimit(getattr(resource, name))
            if highest != resource.RLIM_INFINITY:
                soft, hard = min(soft, highest), min(hard, highest)
            resource.setrlimit(getattr(resource, name), (soft, hard))


def address_space() -> int | None:
    """Return the bytes of address space that this process has, where the system lets it be limited."""
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
