"""The audit hook: Python asks it before it opens, imports, compiles, or looks at a frame, and it denies.

Whoever asks matters: torch looks at frames and imports its own modules late. The walk from the asker outward over
frames of the standard library ends at the one who is to blame.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NoReturn

Deny = Callable[[str], NoReturn]

# Events that reveal and change nothing outside.
_FREE = frozenset(
    {"builtins.id", "array.__new__", "sys.unraisablehook", "sys.excepthook", "time.sleep", "cpython.run_stdin"}
)
# Events that torch and the standard library cause in all innocence, and a repro has no business to.
_INNER = frozenset(
    {
        *("object.__getattr__", "object.__setattr__", "object.__delattr__", "sys._getframe", "sys._getframemodulename"),
        *("compile", "exec", "marshal.loads", "marshal.load", "import", "code.__new__", "function.__new__"),
    }
)
_LOOKING = frozenset({"open", "os.listdir", "os.scandir"})
# Modules of the standard library that make functions of text, or look at who calls them, on behalf of a program.
_MAKERS = frozenset({"collections", "dataclasses", "typing", "enum", "functools", "contextlib", "warnings", "copy"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Guard:
    """Decides on audit events. It is made before the walls stand, and nothing of a repro leads to it.

    It calls methods of builtin types only: the modules that it would use otherwise are the repro's to alter.
    """

    def __init__(
        self,
        roots: tuple[str, ...],
        own: frozenset[CodeType],
        allowed: frozenset[str],
        forbidden: frozenset[str],
        deny: Deny,
    ) -> None:
        """`roots` are the folders that may be read, `own` the code to run, `allowed` the modules it may import.

        `forbidden` are modules that nobody may load.
        """
        self._roots = tuple(root.rstrip(os.sep) + os.sep for root in roots)
        self._own, self._allowed, self._forbidden, self._deny = own, allowed, forbidden, deny
        self._up = os.sep + ".."
        library = os.path.dirname(os.path.realpath(os.__file__)) + os.sep
        self._library = (library, sysconfig.get_paths()["stdlib"] + os.sep)
        self._trusted = (*self._roots, os.path.dirname(__file__) + os.sep)
        self._frame = sys._getframe
        self._deciding = False

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The hook. Looking at frames to find who asks is an event as well, and the only one that goes unasked."""
        if self._deciding or event in _FREE:
            return
        if event in _LOOKING:
            self._look(event, arguments)
            return
        self._deciding = True
        innocent = event in _INNER and self._may(event, arguments)
        self._deciding = False
        if not innocent:
            self._deny(event)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """A file or folder below the roots, to be read; torch gives absolute paths."""
        path, *how = arguments
        if type(path) is not str or not self._below(path + os.sep, self._roots) or self._up in path:
            self._deny(f"{event} {path!r}")
        if event == "open" and (how[0] not in (None, "r", "rb") or how[1] & _WRITING):
            self._deny("open, to write")

    def _may(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "exec" and arguments[0] in self._own:
            return True
        if event == "import" and not self._is_loadable(*arguments[:2]):
            return False
        # Frame 0 is this one, 1 is `__call__`, 2 is the one that caused the event.
        asker: FrameType | None = self._frame(2)
        for_a_program = False
        while asker is not None and self._is_library(asker.f_code.co_filename):
            for_a_program = for_a_program or asker.f_globals.get("__name__") in _MAKERS
            asker = asker.f_back
        if asker is None or self._below(asker.f_code.co_filename, self._trusted):
            return True
        if event == "import":
            return type(arguments[0]) is str and arguments[0].split(".")[0] in self._allowed
        return for_a_program

    def _is_loadable(self, name: object, file: object) -> bool:
        """Return whether a module may be loaded at all; `file` is what native code is loaded from."""
        if type(name) is not str or name.rpartition(".")[2] in self._forbidden:
            return False
        return file is None or (type(file) is str and self._below(file, self._roots) and self._up not in file)

    def _is_library(self, name: str) -> bool:
        if str.startswith(name, "<frozen "):
            return True
        return self._below(name, self._library) and "site-packages" not in name

    def _below(self, path: str, folders: tuple[str, ...]) -> bool:
        return str.startswith(path, folders)
