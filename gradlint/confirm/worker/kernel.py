"""What the Linux kernel can hold a process to, once and for all its children. Any of it may be missing.

Each function raises `OSError` where the kernel does not do it.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

_NO_NEW_PRIVILEGES, _DEATH_SIGNAL = 38, 1
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_CAPABILITIES_VERSION = 0x20080522

# landlock(7): numbers are the same on all machines.
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_VERSION = 1
_BENEATH = 1
_READ = 1 << 2 | 1 << 3
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}  # by version of the interface; 16 from the fifth on
_NETWORK_RIGHTS, _SCOPES = 0b11, 0b11


def _call(name: str, *arguments: object) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, name):
        raise OSError(f"the system has no `{name}`")
    result: int = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def die_with_parent(signal: int) -> None:
    """Be killed when the process that started this one ends."""
    _call("prctl", _DEATH_SIGNAL, signal, 0, 0, 0)


def leave_the_network() -> None:
    """Have a network of one's own, with nobody on it; who is no administrator gets a user of one's own as well."""
    try:
        _call("unshare", _NEW_NETWORK | _NEW_IPC)
    except OSError:
        _call("unshare", _NEW_USER | _NEW_NETWORK | _NEW_IPC)


def give_up_privileges() -> None:
    """Neither gain privileges by any program, nor keep those of an administrator."""
    _call("prctl", _NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    header = struct.pack("Ii", _CAPABILITIES_VERSION, 0)
    _call("capset", header, bytes(24))


def read_only_below(folders: Iterable[str]) -> None:
    """Read files below folders, and touch no other; no TCP, no signals to processes outside."""
    version = _call("syscall", _CREATE, None, ctypes.c_size_t(0), _VERSION)
    rights = [(1 << _FILE_RIGHTS.get(version, 16)) - 1]
    rights += [_NETWORK_RIGHTS] if version >= 4 else []
    rights += [_SCOPES] if version >= 6 else []
    attributes = struct.pack(f"{len(rights)}Q", *rights)
    ruleset = _call("syscall", _CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for folder in folders:
            _allow(ruleset, folder)
        _call("syscall", _RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, folder: str) -> None:
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _call("syscall", _ADD, ruleset, _BENEATH, struct.pack("=Qi", _READ, place), 0)
    finally:
        os.close(place)
