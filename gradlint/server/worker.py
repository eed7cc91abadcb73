"""One thread in which all work on programs is done, one job after the other: what is learnt of files is not shared."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from typing import TypeVar

from gradlint.domain.clock import UnwantedError, wanted_unless
from gradlint.running import no_collection, with_deep_stack

_Result = TypeVar("_Result")

_BETWEEN = 25
"""After so many jobs garbage in cycles is collected even where somebody types on and on."""


class PreemptedError(Exception):
    """A job in the background was ended, as somebody waits for another."""


class Worker:
    """Does jobs. One that nobody waits for any more ends soon; one in the background, once another job comes."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "gradlint-server")
        self._stops: set[Event] = set()
        self._background: set[Event] = set()
        self._since = 0

    async def run(self, job: Callable[[], _Result], *, background: bool = False) -> _Result:
        """Do a job.

        Raises:
            PreemptedError: it was in the background, and another one came.
        """
        stop = Event()
        if not background:
            for other in self._background:
                other.set()
        own = self._background if background else self._stops
        own.add(stop)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._do, job, stop)
        except asyncio.CancelledError:
            stop.set()
            raise
        finally:
            own.discard(stop)
            if self._since >= _BETWEEN:
                with suppress(RuntimeError):  # It has ended.
                    self._thread.submit(self.collect)  # Nobody waits for it.

    def _do(self, job: Callable[[], _Result], stop: Event) -> _Result:
        def work() -> _Result:
            with wanted_unless(stop.is_set):
                return job()

        if stop.is_set():
            raise PreemptedError
        try:
            with no_collection():
                return with_deep_stack(work)
        except UnwantedError:
            raise PreemptedError from None
        finally:
            self._since += 1

    def collect(self) -> None:
        """Collect garbage in cycles: while a job is done, Python does not."""
        if self._since:
            self._since = 0
            gc.collect()

    def end(self) -> None:
        """End all jobs."""
        for stop in self._stops | self._background:
            stop.set()
        self._thread.shutdown(wait=False, cancel_futures=True)
