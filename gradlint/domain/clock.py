"""The processor time that the check of one file may take: programs that hurt must not hold up all others."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTimeError(Exception):
    """A file has had its time."""


class _Limit(threading.local):
    end: float | None = None


_limit = _Limit()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let what runs in the block, in this thread, take so much of the processor's time; 0 for any."""
    former = _limit.end
    _limit.end = _now() + seconds if seconds else None
    try:
        yield
    finally:
        _limit.end = former


def look_at_clock() -> None:
    """Raise if the time is over: called where much may be done, and nothing would be left half done."""
    if _limit.end is not None and _now() > _limit.end:
        raise OutOfTimeError


def _now() -> float:
    return time.thread_time()
