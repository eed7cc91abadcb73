"""The progress bar."""

from __future__ import annotations

import io

from gradlint.entrypoints.progress import ProgressBar
from tests.harness.terminal import Terminal


class Clock:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def shown(stream: io.StringIO, *, silent: bool = False) -> list[str]:
    """What is written for three files that take 0.9 seconds each, and then the end."""
    clock = Clock()
    bar = ProgressBar(stream, silent=silent, clock=clock)
    for done in (1, 2, 3):
        clock.now += 0.9
        bar(done, 3)
    bar.clear()
    return stream.getvalue().split("\r")[1:]


def test_it_comes_after_a_second_and_goes_away() -> None:
    """Redrawn in place, and wiped out."""
    second = "checking [####################..........] 2/3 files"
    third = "checking [##############################] 3/3 files"
    assert shown(Terminal()) == [second, third, " " * len(third), ""]


def test_it_is_for_people_who_wait() -> None:
    """Not for files, and not under `--quiet`."""
    assert shown(io.StringIO()) == []
    assert shown(Terminal(), silent=True) == []


def test_it_may_say_how_fast() -> None:
    """At its end, of what is done."""
    stream, clock = Terminal(), Clock()
    bar = ProgressBar(stream, clock=clock, rates=lambda done: f", {done * 10}/s")
    clock.now = 2.0
    bar(1, 3)
    assert stream.getvalue().endswith("1/3 files, 10/s")
