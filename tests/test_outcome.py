"""Tests of `gradlint.outcome`."""

from __future__ import annotations

from gradlint.outcome import Crash


def test_a_long_exception_is_cut() -> None:
    """What an exception quotes may be a whole tree: the line says how it begins, the trace all of it."""
    crash = Crash.of("a.py", KeyError("x" * 10_000))
    assert crash.line.startswith("internal error in a.py: KeyError: 'xxx")
    assert crash.line.endswith("xxx ...; please report it")
    assert len(crash.line) < 400 and len(crash.trace) > 10_000
