"""Which iterations of a program are watched."""

from __future__ import annotations

import time
from collections import deque
from statistics import median
from typing import Any, NamedTuple

ITERATIONS = 10
"""Of a sample of `gradlint run`: an optimizer that steps less often than the others has mostly stepped by then."""

EVERY = 1000
"""So that what watching costs a loop of tiny operations, up to two times more, is 2 % of the whole run."""

BLOCK = 16
"""Between samples, the end of one iteration in so many is told of."""

_TIMED = 50
_ENOUGH = 5


class Schedule(NamedTuple):
    """Samples of so many `iterations`, one `every` so many; the first sample begins with the program.

    A sample also begins with what the program comes to for the first time: a place that makes an optimizer, or that
    switches the mode of a network. Without `iterations`, all are watched; without `every`, there are no other samples
    than these. Nothing is watched any more once so many `seconds` have passed.
    """

    iterations: int | None = None
    every: int | None = None
    seconds: float | None = None


class Sampler:
    """Counts iterations, and tells which are to be watched.

    An iteration ends with the step of an optimizer. Where there are several it is that of one of them: the one that has
    begun to step last, or else one that steps a second time while that one has not.
    """

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._done = 0
        self._skipped = self._skips = 0
        """Iterations between samples that were only counted since the last of `_done`, and how many there may be."""
        self.watched = 0
        self.samples = 0
        self._was_watched = False
        self._until = None if schedule.seconds is None else time.monotonic() + schedule.seconds
        self._end = schedule.iterations or 0
        """The number of the first iteration after the sample that has begun last with something new."""
        self._known: set[int] = set()
        self._since: set[int] = set()
        self._last = 0

    def ends_iteration(self, optimizer: Any) -> bool:
        """Return whether this step of an optimizer ends an iteration."""
        key = id(optimizer)
        if key not in self._known:
            is_first = not self._known
            self._known.add(key)
            self._last = key
            self._since.clear()
            return is_first  # What the others have done before belongs to the same iteration.
        if key != self._last and key not in self._since:
            self._since.add(key)
            return False
        self._last = key
        self._since.clear()
        return True

    @property
    def done(self) -> int:
        """Return how many iterations are over."""
        return self._done + self._skipped

    def skips(self, optimizer: Any) -> bool:
        """Count an iteration between samples of which nothing else is due; return whether this step ends such a one."""
        if self._skipped >= self._skips or id(optimizer) != self._last or self._since:
            return False
        self._skipped += 1
        return True

    @property
    def is_late(self) -> bool:
        """Return whether the time for watching is over."""
        return self._until is not None and time.monotonic() >= self._until

    def begins(self) -> bool:
        """Begin a sample here, with this iteration; return whether there is anything left to be watched."""
        self._end = self.done + (self.schedule.iterations or 0)
        self._skips = 0
        return not self.is_late

    @property
    def count(self) -> int:
        """Return how many iterations are over since the last that was not skipped, with this one."""
        return self._skipped + 1

    def next_is_watched(self, this_was: bool) -> bool:
        """Count an iteration, and return whether the next one is to be watched."""
        self._done, self._skipped = self.done + 1, 0
        self.watched += this_was
        self.samples += this_was and not self._was_watched
        self._was_watched = this_was
        iterations, every = self.schedule.iterations, self.schedule.every
        is_watched = iterations is None or self._done < self._end
        is_watched = is_watched or (every is not None and self._done % every < (iterations or 0))
        is_watched = is_watched and not (self._until is not None and self.is_late)
        left = -self._done % BLOCK
        self._skips = 0 if is_watched else left if every is None else min(left, every - 1 - self._done % every)
        return is_watched


class Clock:
    """Times iterations, those that are watched and those that are not: the last of each."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self._last = self.start
        self._was_watched = True
        self._times: dict[bool, deque[float]] = {True: deque(maxlen=_TIMED), False: deque(maxlen=_TIMED)}

    def iterations_ended(self, watched: bool, count: int) -> None:
        """Note how long so many took. The first of a sample, or after one, also pays for what begins or ends."""
        now = time.monotonic()
        if watched == self._was_watched:
            self._times[watched].extend([(now - self._last) / count] * count)
        self._was_watched, self._last = watched, now

    @property
    def seconds(self) -> float:
        """Return the seconds since the watching began."""
        return time.monotonic() - self.start

    @property
    def slowdown(self) -> float | None:
        """Return how many times as long a watched iteration takes, by the medians; None where that is not known."""
        watched, others = self._times[True], self._times[False]
        if min(len(watched), len(others)) < _ENOUGH or not median(others):
            return None
        return median(watched) / median(others)
