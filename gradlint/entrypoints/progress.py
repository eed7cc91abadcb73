"""A progress bar, for people who wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

PATIENCE = 1.0
PAUSE = 0.1
WIDTH = 30


class ProgressBar:
    """Draws itself on a terminal when a run takes over a second, and is gone afterwards."""

    def __init__(
        self,
        stream: TextIO,
        *,
        silent: bool = False,
        clock: Callable[[], float] = time.monotonic,
        rates: Callable[[int], str] = lambda _: "",
    ) -> None:
        """`rates` says, of how much is done, how fast that was."""
        self._stream, self._clock, self._rates = stream, clock, rates
        self._enabled = stream.isatty() and not silent
        self._next = clock() + PATIENCE
        self._drawn = 0

    def __call__(self, done: int, total: int) -> None:
        """Say how far the run is."""
        if not self._enabled or self._clock() < self._next:
            return
        self._next = self._clock() + PAUSE
        filled = WIDTH * done // total
        text = f"checking [{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{total} files{self._rates(done)}"
        self._stream.write(f"\r{text:{self._drawn}}")
        self._stream.flush()
        self._drawn = len(text)

    def clear(self) -> None:
        """Take the bar away."""
        if self._drawn:
            self._stream.write(f"\r{'':{self._drawn}}\r")
            self._stream.flush()
