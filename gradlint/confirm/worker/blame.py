"""Whose error it is: torch's own, or one that the repro made up or altered."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType
from typing import Any

from gradlint.confirm.run.protocol import Swallowed

# At these instructions an error comes from `raise`, `assert`, or `throw`, and from nothing that was called.
_BY_HAND = frozenset(
    dis.opmap[name]
    for name in ("RAISE_VARARGS", "RERAISE", "YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME", "RETURN_GENERATOR")
    if name in dis.opmap
)

_MESSAGE = 20
"""Characters from which on a text with a space is no name."""

_MOST_SEEN = 50
"""So many different errors are kept of one run."""


class Blame:
    """Watches the errors that pass frames of one file, as the tracer of the interpreter.

    What is kept is the text that an error had when it was first seen: a handler or an `__exit__` may alter the
    error and let it pass on. Some functions of torch raise what they are told to, so a message that stands in the
    repro is its own. Only classes that were there before the repro are torch's or Python's.
    """

    def __init__(self, code: CodeType, genuine: frozenset[type[BaseException]]) -> None:
        self._filename, self.genuine = code.co_filename, genuine
        self._texts = tuple(long_texts(code))
        self._seen: tuple[BaseException, str] | None = None
        self._all: dict[tuple[type[BaseException], str, tuple[int, ...]], bool] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Return the tracer: it follows frames of the file only, and of those only the errors."""
        if frame.f_code.co_filename != self._filename:
            return None
        frame.f_trace_lines = False
        if event == "exception":
            error = argument[1]
            # An error that leaves a loop closes the generator of the loop on its way.
            counts = type(error) in self.genuine and type(error) is not GeneratorExit
            if counts and (self._seen is None or self._seen[0] is not error):
                self._seen = (error, text_of(error))
                self._note(frame, *self._seen)
        return self

    def _note(self, frame: FrameType, error: BaseException, text: str) -> None:
        """Keep what an error was when it came up, for the case that something swallows it."""
        if len(self._all) < _MOST_SEEN and type(error) is not StopIteration:
            made_here = frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] in _BY_HAND
            forced = made_here or any(str.__contains__(text, one) for one in self._texts)
            self._all.setdefault((type(error), text, self._stack(frame)), forced)

    def _stack(self, frame: FrameType | None) -> tuple[int, ...]:
        """Return the lines of the file on the way to a frame, outermost first."""
        lines: list[int] = []
        while frame is not None:
            if frame.f_code.co_filename == self._filename:
                lines.insert(0, frame.f_lineno)
            frame = frame.f_back
        return tuple(lines)

    def swallowed(self) -> Iterator[Swallowed]:
        """Yield each error that passed a frame of the file, the one that ended the program among them."""
        for (kind, text, lines), forced in self._all.items():
            yield Swallowed(kind.__name__, text, lines, forced)

    def is_forced(self, error: BaseException) -> bool:
        """Return whether the repro raised the error, or raised it again, or gave it a text or class of its own."""
        if self._seen is None or self._seen[0] is not error or self._seen[1] != text_of(error):
            return True
        if any(str.__contains__(self._seen[1], text) for text in self._texts):
            return True
        return any(_by_hand(trace) for trace in self._own_frames(error))

    def lines_of(self, error: BaseException) -> tuple[int, ...]:
        """Return the lines of the file that the error passed, outermost first."""
        return tuple(trace.tb_lineno for trace in self._own_frames(error))

    def _own_frames(self, error: BaseException) -> Iterator[TracebackType]:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._filename:
                yield trace
            trace = trace.tb_next


def long_texts(code: CodeType) -> Iterator[str]:
    """Yield the texts in a program that are long enough to be a message."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from long_texts(constant)
        elif isinstance(constant, str) and len(constant) >= _MESSAGE and " " in constant:
            yield constant


def text_of(error: BaseException) -> str:
    """Return the text of an error, as a plain string that can be written down."""
    return str.encode(str(error), "utf-8", "replace").decode()


def known_errors() -> frozenset[type[BaseException]]:
    """Return all classes of errors that exist by now."""
    found: dict[type[BaseException], None] = {}
    waiting = [BaseException]
    while waiting:
        found |= dict.fromkeys(waiting)
        waiting = [kind for one in waiting for kind in type.__subclasses__(one) if kind not in found]
    return frozenset(found)


def _by_hand(trace: TracebackType) -> bool:
    place = trace.tb_lasti
    return place < 0 or trace.tb_frame.f_code.co_code[place] in _BY_HAND
