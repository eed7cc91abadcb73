"""Several processes that check files, each with a checker of its own.

Where it is safe they are forked, with all that is imported; elsewhere they are started anew. Each is given one task at
a time, and answers it, both pickled; a process that ends before it answers is replaced by a new one.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, Protocol

from gradlint.checker import Checker, Task
from gradlint.outcome import Checked, Crash
from gradlint.plugins.installed import is_switched_off, switched_off
from gradlint.running import no_collection, with_deep_stack

_START = "import sys; sys.path[:] = sys.argv[1:]; from gradlint.pool import main; main()"
"""What a new process is given: with -I it searches no directory but those that it is told of."""


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _Process(Protocol):
    """A process, with one pipe to it and one from it."""

    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def kill(self) -> None:
        """End it at once."""

    def wait(self) -> int:
        """Return its exit code, negative for a signal."""


class Pool:
    """Processes that do tasks with checkers like the one that is given; they end with the block."""

    def __init__(self, checker: Checker, number: int, *, forks: bool | None = None) -> None:
        """`forks`: whether processes are forked; where it is not said, they are on Linux, while there is one thread."""
        self._checker = checker
        self._forks = sys.platform == "linux" and threading.active_count() == 1 if forks is None else forks
        self._processes: list[_Process] = []
        self._closed = False
        try:
            with _without_interrupts() if self._forks else nullcontext():
                for _ in range(number):
                    self._processes.append(_Forked(checker, self._processes) if self._forks else _started(checker))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Pool:
        """Return the pool."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End all processes."""
        self.close()

    def close(self) -> None:
        """End all processes, whatever they do."""
        self._kill()
        for process in self._processes:
            _ended(process)

    def _kill(self) -> None:
        self._closed = True
        for process in self._processes:
            process.kill()

    def perform(self, tasks: Sequence[Task], progress: Callable[[int, int], None] | None = None, /) -> list[Checked]:
        """Do all tasks, and return what came of each, in order."""
        queue, done = _Queue(tasks), dict[int, Checked]()
        failures: list[BaseException] = []
        lock = threading.Lock()

        def drive(slot: int) -> None:
            try:
                while not self._closed and (index := queue.take(slot)) is not None:
                    checked = self._answer(slot, tasks[index])
                    with lock:
                        done[index] = checked
                        if progress is not None:
                            progress(len(done), len(tasks))
            except BaseException as failure:  # It is raised again below, in the thread of the caller.
                failures.append(failure)

        threads = [threading.Thread(target=drive, args=(slot,), daemon=True) for slot in range(len(self._processes))]
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException:
            self._kill()
            raise
        finally:
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]
        return [done[index] for index in range(len(tasks))]

    def end(self) -> list[str]:
        """Return what each process could not read of installed packages; they do nothing after that."""
        told = [self._told(slot, None) for slot in range(len(self._processes))]
        return [str(line) for lines in told if isinstance(lines, tuple) for line in lines]

    def _answer(self, slot: int, task: Task) -> Checked:
        answer = self._told(slot, task)
        if isinstance(answer, Checked):
            return answer
        if self._closed:
            return Checked(task.found.name)  # Nobody waits for it.
        code = _ended(self._processes[slot])
        self._processes[slot] = _started(self._checker)  # There are threads now, and a fork has only one.
        why = f"killed by signal {-code}" if code < 0 else f"ended with {code}"
        summary = f"the process that checked it was {why}"
        return Checked(task.found.name, crash=Crash(task.found.name, summary, f"{summary}\n", killed=True))

    def _told(self, slot: int, task: Task | None) -> object:
        """Return the answer of a process; None if it ends without one."""
        process = self._processes[slot]
        assert process.stdin is not None and process.stdout is not None
        try:
            pickle.dump(task, process.stdin, pickle.HIGHEST_PROTOCOL)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            return None


class _Queue:
    """Tasks to be taken by several: each stays in a directory, whose files import the same ones, while it can.

    What takes long comes first, so that all end at the same time.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._lock = threading.Lock()
        self._left: dict[str, deque[tuple[int, int]]] = {}
        self._sizes: Counter[str] = Counter()
        self._at: dict[int, str] = {}
        for size, index in sorted(((task.size, index) for index, task in enumerate(tasks)), reverse=True):
            folder = os.path.dirname(tasks[index].found.path)
            self._left.setdefault(folder, deque()).append((size, index))
            self._sizes[folder] += size

    def take(self, who: int) -> int | None:
        """Return the index of the next task for somebody; None if there is none."""
        with self._lock:
            if self._at.get(who) not in self._left:
                if not self._left:
                    return None
                free = self._left.keys() - self._at.values() or self._left.keys()
                self._at[who] = max(sorted(free), key=self._sizes.__getitem__)
            folder = self._at[who]
            size, index = self._left[folder].popleft()
            self._sizes[folder] -= size
            if not self._left[folder]:
                del self._left[folder]
            return index


class _Forked:
    """A copy of this process that does tasks; `others` are those before it, whose pipes it must not hold open."""

    def __init__(self, checker: Checker, others: Iterable[_Process]) -> None:
        (inner_in, outer_in), (outer_out, inner_out) = os.pipe(), os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                _ignore_interrupts()
                for handle in (outer_in, outer_out, *(pipe.fileno() for one in others for pipe in _pipes(one))):
                    os.close(handle)
                _serve(checker, os.fdopen(inner_in, "rb"), os.fdopen(inner_out, "wb"))
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        os.close(inner_in)
        os.close(inner_out)
        self.stdin: IO[bytes] | None = os.fdopen(outer_in, "wb")
        self.stdout: IO[bytes] | None = os.fdopen(outer_out, "rb")
        self._code: int | None = None

    def kill(self) -> None:
        """End it at once."""
        if self._code is None:
            os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """Return its exit code, negative for a signal."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        return self._code


def _pipes(process: _Process) -> list[IO[bytes]]:
    return [pipe for pipe in (process.stdin, process.stdout) if pipe is not None]


def _ended(process: _Process) -> int:
    """Wait for a process, close its pipes, and return its exit code."""
    code = process.wait()
    for pipe in _pipes(process):
        with suppress(BrokenPipeError):  # What was written last has not reached it.
            pipe.close()
    return code


def _started(checker: Checker) -> _Process:
    """Start a process of its own."""
    path = [folder for folder in sys.path if folder]
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _START, *path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    pickle.dump((checker, is_switched_off()), process.stdin, pickle.HIGHEST_PROTOCOL)
    process.stdin.flush()
    return process


def main() -> None:
    """Do tasks from standard input, and answer on standard output, to which nobody else writes."""
    _ignore_interrupts()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    checker, without_plugins = pickle.load(sys.stdin.buffer)
    if without_plugins:
        with switched_off():
            _serve(checker, sys.stdin.buffer, answers)
    else:
        _serve(checker, sys.stdin.buffer, answers)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Let interrupts wait until the end of the block: none comes where a process is made and nobody knows it yet."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ignore_interrupts() -> None:
    """Leave it to the asking process: at a terminal they go to all."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _serve(checker: Checker, tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Answer task after task, until there are no more or nobody is there to ask."""

    def work() -> None:
        checker.load()
        while True:
            task = pickle.load(tasks)
            answer = checker.end() if task is None else checker.perform(task)
            pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()

    try:
        with no_collection():
            with_deep_stack(work)
    except (EOFError, BrokenPipeError):
        return
