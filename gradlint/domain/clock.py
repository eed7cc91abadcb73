"""When work on a file ends early: its time is over, or nobody wants the result any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class OutOfTimeError(Exception):
    """A file has had its time."""


class UnwantedError(BaseException):
    """Nobody waits for the result any more. No `except Exception` on the way takes this for a mistake."""


class _Limit(threading.local):
    """When the thread has had its time, and until when, by the clock on the wall, it cannot have had it."""

    end: float | None = None
    sooner: float = 0.0
    is_unwanted: Callable[[], bool] | None = None


_limit = _Limit()


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Let what runs in the block, in this thread, take so much of the processor's time; 0 for any."""
    former = _limit.end, _limit.sooner
    _limit.end, _limit.sooner = _now() + seconds if seconds else None, _wall() + seconds
    try:
        yield
    finally:
        _limit.end, _limit.sooner = former


@contextmanager
def wanted_unless(is_unwanted: Callable[[], bool]) -> Iterator[None]:
    """Let what runs in the block, in this thread, end by `UnwantedError` once this is true."""
    former, _limit.is_unwanted = _limit.is_unwanted, is_unwanted
    try:
        yield
    finally:
        _limit.is_unwanted = former


def look_at_clock() -> None:
    """Raise if the time is over, or nobody waits: called where much may be done, and nothing is left half done.

    A thread takes no more of the processor's time than passes on the wall. That clock is read without asking the
    system, which may take long to answer, and hands the processor to others first.
    """
    if _limit.is_unwanted is not None and _limit.is_unwanted():
        raise UnwantedError
    if _limit.end is None or _wall() <= _limit.sooner:
        return
    left = _limit.end - _now()
    if left < 0:
        raise OutOfTimeError
    _limit.sooner = _wall() + left


_now: Callable[[], float] = getattr(time, "thread_time", time.process_time)
"""The processor's time of this thread; that of the process in a browser, which has no other threads."""


def _wall() -> float:
    return time.perf_counter()
