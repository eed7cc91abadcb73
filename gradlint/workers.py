"""Do tasks in this process, or in several where there is enough to do."""

from __future__ import annotations

from collections.abc import Sequence

from gradlint.checker import Checker, Progress, Task
from gradlint.outcome import Checked
from gradlint.pool import Pool
from gradlint.running import no_collection, with_deep_stack

_SHARE = 150_000
"""So many bytes of files are left to each process at least: to start one takes as long as to check them."""


class Workers:
    """A checker, and at most `jobs` processes with one like it, which are there until the block ends."""

    def __init__(self, checker: Checker, jobs: int = 1) -> None:
        self._checker = checker
        self._jobs = jobs
        self._pool: Pool | None = None

    def __enter__(self) -> Workers:
        """Return itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()

    def perform(self, tasks: Sequence[Task], progress: Progress | None = None, /) -> list[Checked]:
        """Do all tasks, and return what came of each, in order."""
        if not tasks:
            return []
        self._checker.load()  # Processes that are forked share it, and no file's time is spent on it.
        if self._pool is None and self._jobs > 1:
            number = min(self._jobs, len(tasks), sum(task.size for task in tasks) // _SHARE)
            self._pool = Pool(self._checker, number) if number > 1 else None
        if self._pool is not None:
            return self._pool.perform(tasks, progress)
        with no_collection():
            return with_deep_stack(lambda: self._here(tasks, progress))

    def _here(self, tasks: Sequence[Task], progress: Progress | None) -> list[Checked]:
        done: list[Checked] = []
        for task in tasks:
            done.append(self._checker.perform(task))
            if progress is not None:
                progress(len(done), len(tasks))
        return done

    def end(self) -> list[str]:
        """Keep for later runs what was learnt of installed packages; return what could not be read of them."""
        lines = [*self._checker.end(), *(() if self._pool is None else self._pool.end())]
        return list(dict.fromkeys(lines))
