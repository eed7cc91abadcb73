"""A filter of system calls: computing and reading are left to a repro, and the kernel ends it at anything else.

The filter is a program of classic BPF (seccomp(2), bpf(4) of FreeBSD for the machine). It is put on the child after
the fork and can never be taken off again.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator

# Name, number on x86-64, number on arm64; -1 where the kernel has none. From asm/unistd_64.h and
# asm-generic/unistd.h of Linux, where numbers once given never change.
_ALLOWED = """
read 0 63  write 1 64  close 3 57  stat 4 -1  fstat 5 80  lstat 6 -1  poll 7 -1  lseek 8 62  mmap 9 222
mprotect 10 226  munmap 11 215  brk 12 214  rt_sigaction 13 134  rt_sigprocmask 14 135  rt_sigreturn 15 139
pread64 17 67  readv 19 65  writev 20 66  access 21 -1  select 23 -1  sched_yield 24 124  mremap 25 216
madvise 28 233  nanosleep 35 101  getpid 39 172  exit 60 93  uname 63 160  getcwd 79 17  readlink 89 -1
gettimeofday 96 169  getrusage 98 165  sysinfo 99 179  times 100 153  getuid 102 174  getgid 104 176  geteuid 107 175
getegid 108 177  getppid 110 173  sigaltstack 131 132  gettid 186 178  time 201 -1  futex 202 98
sched_getaffinity 204 123  getdents64 217 61  restart_syscall 219 128  fadvise64 221 223  clock_gettime 228 113
clock_getres 229 114  clock_nanosleep 230 115  exit_group 231 94  newfstatat 262 79  readlinkat 267 78
faccessat 269 48  pselect6 270 72  ppoll 271 73  set_robust_list 273 99  getrandom 318 278  membarrier 324 283
statx 332 291  rseq 334 293  faccessat2 439 439
"""
# Refused, and the program goes on: torch and the C library try these and can do without.
_TOLERATED = "ioctl 16 29  get_mempolicy 239 236  mbind 237 235  arch_prctl 158 -1  set_mempolicy 238 237"
_OPEN = "open 2 -1"
_OPENAT = "openat 257 56"
_FCNTL = "fcntl 72 25"
_TGKILL = "tgkill 234 131"
_PRLIMIT = "prlimit64 302 261"

_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_READ_ONLY_FCNTL = (1, 2, 3, 1030)  # F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC

_LOAD, _EQUAL, _AND, _RETURN = 0x20, 0x15, 0x54, 0x06
_KILL, _REFUSE, _ALLOW = 0x80000000, 0x00050000 | 1, 0x7FFF0000  # the whole process; EPERM; go on
_NUMBER, _MACHINE = 0, 4

_PR_SET_SECCOMP, _FILTER = 22, 2
_Instruction = tuple[int, int, int, int]


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))


class Filter:
    """The filter, made ready where there is memory and time; `install` does nothing but one call of the kernel."""

    def __init__(self) -> None:
        """Raises `OSError` where there is no such kernel."""
        if platform.machine() not in _MACHINES or not hasattr(ctypes.CDLL(None), "prctl"):
            raise OSError("no filter of system calls is known for this machine")
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        # seccomp(2): who knows filters misses the one that is not given.
        if self._prctl(_PR_SET_SECCOMP, _FILTER, None, 0, 0) != -1 or ctypes.get_errno() != errno.EFAULT:
            raise OSError("the kernel knows no filters of system calls")

    def install(self) -> None:
        """Filter this process from here on; it must have no new privileges."""
        code = b"".join(struct.pack("HBBI", *each) for each in _instructions(platform.machine(), os.getpid()))
        buffer = ctypes.create_string_buffer(code, len(code))
        program = _Program(len(code) // 8, ctypes.cast(buffer, ctypes.c_void_p))
        if self._prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "the kernel takes no filter")


def has_filter() -> bool:
    """Return whether this system has such a filter."""
    try:
        Filter()
    except OSError:
        return False
    return True


def _instructions(machine: str, process: int) -> list[_Instruction]:
    column, architecture = _MACHINES[machine]
    return [
        (_LOAD, 0, 0, _MACHINE),
        *_unless_equal((architecture,), _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *(part for number in _numbers(_ALLOWED, column) for part in _if_equal(number, _ALLOW)),
        *(part for number in _numbers(_TOLERATED, column) for part in _if_equal(number, _REFUSE)),
        *_checked(_OPEN, column, _reading(1)),
        *_checked(_OPENAT, column, _reading(2)),
        *_checked(_FCNTL, column, [(_LOAD, 0, 0, _low(1)), *_if_one_of(_READ_ONLY_FCNTL, _ALLOW, _REFUSE)]),
        # `abort` signals its own process.
        *_checked(_TGKILL, column, [(_LOAD, 0, 0, _low(0)), *_if_one_of((process,), _ALLOW, _KILL)]),
        # Limits are read, of the process itself, and not set.
        *_checked(_PRLIMIT, column, _all_zero(_low(0), _low(2), _low(2) + 4)),
        (_RETURN, 0, 0, _KILL),
    ]


def _numbers(names: str, column: int) -> Iterator[int]:
    words = names.split()
    for number in words[1 + column :: 3]:
        if int(number) >= 0:
            yield int(number)


def _low(argument: int) -> int:
    """Return where the lower half of an argument stands; both machines are little-endian."""
    return 16 + 8 * argument


def _if_equal(value: int, verdict: int) -> list[_Instruction]:
    return [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, verdict)]


def _unless_equal(values: tuple[int], verdict: int) -> list[_Instruction]:
    return [(_EQUAL, 1, 0, values[0]), (_RETURN, 0, 0, verdict)]


def _if_one_of(values: tuple[int, ...], verdict: int, otherwise: int) -> list[_Instruction]:
    return [*(part for value in values for part in _if_equal(value, verdict)), (_RETURN, 0, 0, otherwise)]


def _reading(argument: int) -> list[_Instruction]:
    """Files are opened to be read; what would write, create, or cut one ends the process."""
    flags = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND | getattr(os, "O_TMPFILE", 0) & ~os.O_DIRECTORY
    return [(_LOAD, 0, 0, _low(argument)), (_AND, 0, 0, flags), *_if_one_of((0,), _ALLOW, _KILL)]


def _all_zero(*places: int) -> list[_Instruction]:
    checks = [part for place in places for part in ((_LOAD, 0, 0, place), *_unless_equal((0,), _REFUSE))]
    return [*checks, (_RETURN, 0, 0, _ALLOW)]


def _checked(name: str, column: int, checks: list[_Instruction]) -> list[_Instruction]:
    """Return the checks for one call; they end in a verdict, and any other call jumps over them."""
    return [part for number in _numbers(name, column) for part in ((_EQUAL, 0, len(checks), number), *checks)]
