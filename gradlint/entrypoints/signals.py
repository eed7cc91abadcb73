"""Signals that ask for an end, as exceptions: what was begun is put in order first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_ENDINGS = ("SIGTERM", "SIGHUP")


@contextmanager
def signals_as_exits() -> Iterator[None]:
    """Raise `SystemExit` at these signals while the block runs; those that somebody handles or ignores stay so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: object) -> NoReturn:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in _ENDINGS if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers if signal.getsignal(number) is signal.SIG_DFL}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
