"""Whose error it is: torch's own, or one that the repro made up."""

from __future__ import annotations

import dis
from types import TracebackType

_MADE_BY_HAND = {"RAISE_VARARGS", "RERAISE", "YIELD_VALUE", "YIELD_FROM", "SEND", "RESUME", "RETURN_GENERATOR"}
"""At these instructions an error comes from `raise`, `assert`, or `throw`, and from nothing that was called."""


def lines_of(error: BaseException, filename: str) -> tuple[int, ...]:
    """The lines of a file that the error passed, outermost first."""
    found = []
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found.append(trace.tb_lineno)
        trace = trace.tb_next
    return tuple(found)


def is_forced(error: BaseException, filename: str) -> bool:
    """Whether some frame of the repro on the way of the error raised it, or raised it again."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename and _by_hand(trace):
            return True
        trace = trace.tb_next
    return False


def _by_hand(trace: TracebackType) -> bool:
    code = trace.tb_frame.f_code.co_code
    place = trace.tb_lasti
    return place < 0 or dis.opname[code[place]] in _MADE_BY_HAND
