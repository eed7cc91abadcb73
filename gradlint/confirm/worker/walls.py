"""The walls around a repro. Each is tried; where the system does not have one, the others must do.

In the worker, once: another network, no privileges, files read only below the folders of Python. In each child:
limits, no descriptor but the one for the answer, the filter of system calls, the audit hook.
"""

from __future__ import annotations

import os
import signal
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType
from typing import NoReturn

from gradlint.confirm.gate import allowlist as allowed
from gradlint.confirm.worker import kernel, limits
from gradlint.confirm.worker.guard import Guard
from gradlint.confirm.worker.syscalls import Filter

_ANSWER, _MANY = 3, 1 << 12
_IMPORTABLE = frozenset(name.split(".")[0] for name in allowed.MODULES)


class Walls:
    """What stands on this system; `names` say it to the user."""

    def __init__(self, package: str) -> None:
        """Put up the walls of the worker; `package` is the folder that torch was loaded from."""
        self._nothing = os.open(os.devnull, os.O_RDWR)
        self._taken = limits.address_space()
        self._roots = _roots(package)
        self._filter: Filter | None = None
        self.names: list[str] = ["audit"]
        if hasattr(os, "fork"):
            self.names.append("limits")
        if sys.platform == "linux":
            self._try("parent", lambda: kernel.die_with_parent(signal.SIGKILL))
            self._try("network", kernel.leave_the_network)
            self._try("privileges", kernel.give_up_privileges)
            self._try("files", lambda: kernel.read_only_below(self._roots))
            self._try("syscalls", self._prepare_filter)

    def _try(self, name: str, wall: Callable[[], None]) -> None:
        try:
            wall()
        except OSError:
            return  # Not on this system: the name does not stand among those that the user reads.
        self.names.append(name)

    def _prepare_filter(self) -> None:
        self._filter = Filter()

    def prepare(self, answer: int) -> int:
        """Leave a child no descriptor but the one for its answer, and say which that is now."""
        for standard in (0, 1, 2):
            os.dup2(self._nothing, standard)
        if not hasattr(os, "fork"):
            return answer
        os.dup2(answer, _ANSWER)
        os.closerange(_ANSWER + 1, _MANY)
        return _ANSWER

    def enclose(self, seconds: float, codes: frozenset[CodeType], deny: Callable[[str], NoReturn]) -> None:
        """Put up the walls of one child; from here on only `codes` run."""
        guard = Guard(self._roots, codes, _IMPORTABLE, deny)
        limits.put_on(seconds, self._taken)
        if self._filter is not None:
            self._filter.install()
        sys.addaudithook(guard)


def _roots(package: str) -> tuple[str, ...]:
    """Return the folders that Python's own, torch's, and these modules lie in: tracebacks quote them."""
    paths = {sysconfig.get_paths()[kind] for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths.update((os.path.dirname(package), os.path.dirname(__file__), *sys.path))
    paths.update([os.path.realpath(path) for path in paths])
    return tuple(sorted(path for path in paths if os.path.isabs(path) and os.path.isdir(path)))
