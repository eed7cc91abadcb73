"""Standard streams that are made for less than source code, or that close early."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


def prepare_streams() -> None:
    """Let every finding be printed: what a terminal's encoding lacks is written with backslashes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def let_stdout_close() -> Iterator[None]:
    """End quietly when the reader of standard output has gone, as with `| head`."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it exits, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
