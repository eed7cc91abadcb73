"""The walls around a repro. Each is tried; where the system does not have one, the others must do.

In the worker, once: another network, no privileges, files read only below the folders of Python. In each child:
limits, no descriptor but the one for the answer, the filter of system calls, the audit hook.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import sysconfig
from collections.abc import Callable, Collection
from time import process_time
from types import CodeType
from typing import NoReturn

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.run.protocol import patience
from gradlint.confirm.run.syscalls import Filter
from gradlint.confirm.worker import disarm, kernel
from gradlint.confirm.worker.guard import Guard

_ANSWER, _MANY = 3, 1 << 12
_IMPORTABLE = frozenset(name.split(".")[0] for name in allowed.MODULES)

MEMORY = 1 << 30
"""What a repro may have beside what torch has already taken."""

_FILES = 64


class Walls:
    """What stands on this system; `names` say it to the user."""

    def __init__(self, package: str, without: Collection[str] = ()) -> None:
        """Put up the walls of the worker; `package` is the folder that torch was loaded from.

        `without` names walls to leave out, for the tests of the others.
        """
        self._without = without
        self._nothing = os.open(os.devnull, os.O_RDWR)
        self._taken = _address_space()
        self._roots = _roots(package)
        self._filter: Filter | None = None
        self._removal: disarm.Removal | None = None
        self.names: list[str] = []
        self._try("audit", self._prepare_removal)
        if hasattr(os, "fork"):
            self._try("limits", lambda: None)
        if sys.platform == "linux":
            self._try("network", kernel.leave_the_network)
            self._try("privileges", kernel.give_up_privileges)
            self._try("files", lambda: kernel.read_only_below(self._roots))
            self._try("syscalls", self._prepare_filter)
            # To give up privileges takes it off again.
            self._try("parent", lambda: kernel.die_with_parent(signal.SIGKILL))

    def _try(self, name: str, wall: Callable[[], None]) -> None:
        try:
            if name in self._without:
                return
            wall()
        except OSError:
            return  # Not on this system: the name does not stand among those that the user reads.
        self.names.append(name)

    def _prepare_removal(self) -> None:
        disarm.of_torch().apply()
        self._removal = disarm.of_python()
        self._forbidden = disarm.forbidden()

    def _prepare_filter(self) -> None:
        self._filter = Filter()

    def prepare(self, answer: int, *kept: int) -> int:
        """Leave a child no descriptor but the one for its answer and those kept, and say which the first is now."""
        for standard in (0, 1, 2):
            os.dup2(self._nothing, standard)
        if not hasattr(os, "fork"):
            return answer
        os.dup2(answer, _ANSWER)
        ends = sorted({_ANSWER, *kept})
        for end, following in zip(ends, [*ends[1:], _MANY], strict=True):
            os.closerange(end + 1, following)
        return _ANSWER

    def end_with(self, parent: int) -> None:
        """Have a child end when its parent ends, which may have happened already."""
        if "parent" in self.names:
            kernel.die_with_parent(signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    def enclose(self, seconds: float, codes: frozenset[CodeType], deny: Callable[[str], NoReturn]) -> None:
        """Put up the walls of one child; from here on only `codes` run."""
        if self._removal is not None:
            guard = Guard(self._roots, codes, _IMPORTABLE, self._forbidden, deny)
        if "limits" in self.names:
            _limit(seconds, self._taken)
        if self._filter is not None:
            self._filter.install()
        if self._removal is not None:
            self._removal.apply()
            sys.addaudithook(guard)


def _roots(package: str) -> tuple[str, ...]:
    """Return the folders that Python's own, torch's, and these modules lie in: tracebacks quote them."""
    paths = {sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update((os.path.dirname(package), os.path.dirname(__file__), *sys.path))
    paths.update([os.path.realpath(path) for path in paths])
    return tuple(sorted(path for path in paths if os.path.isabs(path) and os.path.isdir(path)))


def _limit(seconds: float, taken: int | None) -> None:
    """Limit this process from here on; `taken` is the address space that torch has, if the system counts that."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the README says so.
        return
    # The timer is exact and can be taken off; the limit counts whole seconds and cannot.
    signal.setitimer(signal.ITIMER_PROF, seconds)
    # Should nobody wait any more, it ends by itself.
    signal.setitimer(signal.ITIMER_REAL, patience(seconds) + 1)
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


def _address_space() -> int | None:
    """Return the bytes of address space that this process has, where the system lets it be limited."""
    if sys.platform != "linux":
        return None
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
