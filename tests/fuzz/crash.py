"""What is a crash, and the smallest program that has the same one."""

from __future__ import annotations

import re
import sys
import time
import traceback
from pathlib import Path

import gradlint
from gradlint.check import check_source

PACKAGE = Path(gradlint.__file__).parent
SECONDS = 5.0
"""More CPU time than this for one program is a crash, too."""
MEGABYTES = 400
"""And so are more of memory, beside the hundred that gradlint takes for itself. Looked at on Linux only."""


def crash_of(text: str) -> str | None:
    """Return what goes wrong in a check of the text, in a line that is the same for the same mistake."""
    start, held = time.process_time(), _most_held(anew=True)
    try:
        check_source(text, "fuzzed.py")
    except Exception as error:
        frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(str(PACKAGE))]
        last = frames[-1]
        place = f"{Path(last.filename).relative_to(PACKAGE).as_posix()}:{last.name}"
        return f"{type(error).__name__} in {place}"
    if time.process_time() - start > SECONDS:
        return f"more than {SECONDS:g} s"
    return f"more than {MEGABYTES} MB" if _most_held() - held > MEGABYTES << 10 else None


def _most_held(*, anew: bool = False) -> int:
    """Return the most memory that this process has held, in kB; `anew` begins to look at it now (proc(5))."""
    if sys.platform != "linux":
        return 0
    if anew:
        Path("/proc/self/clear_refs").write_text("5")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0])


def smallest(text: str, crash: str) -> str:
    """Return a program of few lines, then of few words, that ends in the same crash."""
    lines = _without(text.splitlines(keepends=True), crash)
    return "".join(_without(re.findall(r"\w+|\s+|.", "".join(lines)), crash, tries=2_000))


def _without(parts: list[str], crash: str, tries: int = 500) -> list[str]:
    """Leave out as many parts as can be: halves, then ever smaller runs."""
    size = len(parts) // 2
    while size:
        at = 0
        while at < len(parts) and tries > 0:
            shorter = parts[:at] + parts[at + size :]
            tries -= 1
            if crash_of("".join(shorter)) == crash:
                parts = shorter
            else:
                at += size
        size //= 2
    return parts
