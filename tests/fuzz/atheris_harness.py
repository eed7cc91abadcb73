"""Fuzzing with atheris, which sees what of gradlint a program reaches: for those who have it; no test runs it.

    pip install atheris
    python -m tests.fuzz.atheris_harness FOLDER -max_total_time=3600 -rss_limit_mb=2048 -timeout=20

The folder holds the programs to begin with, and gets those that reach something new: `fixtures` is a good copy to take.
An exception ends the run; atheris writes the program to `crash-...`, which `tests.fuzz.crash.smallest` makes small.
"""

# mypy: disable-error-code="import-not-found, import-untyped, no-untyped-call, unused-ignore"

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gradlint"]):
    from gradlint.check import check_source
    from gradlint.source.read import Unusable, decode


def check_bytes(data: bytes) -> None:
    """Check what a file of these bytes would be: as Python source, its encoding included."""
    text = decode(data)
    if not isinstance(text, Unusable):
        check_source(text, "fuzzed.py")


if __name__ == "__main__":
    atheris.Setup(sys.argv, check_bytes)
    atheris.Fuzz()
