"""`gradlint.watch()`: watch a block of a running program."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gradlint.domain.finding import Finding
from gradlint.settings.config import Config


class Watched:
    """What a watched block came to: its `findings`, once it has ended."""

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = ()


@contextmanager
def watch(
    config: Config | None = None,
    *,
    quiet: bool = False,
    iterations: int | None = None,
    every: int | None = None,
    seconds: float | None = None,
    checksums: bool = False,
) -> Iterator[Watched]:
    """Watch what the block does under torch, in this thread, and report what autograd did wrong.

    All of it is watched, or the first `iterations`, and then as many of `every` so many; an iteration ends with a step
    of an optimizer. After so many `seconds` nothing is watched any more. With `checksums`, writes are found that change
    what is saved for backward, and that torch does not see.

    The findings are printed to standard error when the block ends, unless it is `quiet`. What the block raises is
    raised; an error of autograd gets a note that names both of its ends.
    """
    from gradlint.concrete.findings import judged
    from gradlint.concrete.places import Places
    from gradlint.concrete.schedule import Schedule
    from gradlint.concrete.watching import Watch
    from gradlint.report.concise import concise
    from gradlint.report.paint import Paint
    from gradlint.settings.nearest import Configs

    watched, machine = Watched(), Watch(Places(), _complain, Schedule(iterations, every, seconds), checksums=checksums)
    machine.begin()
    error: BaseException | None = None
    try:
        yield watched
    except BaseException as raised:
        error = raised
        raise
    finally:
        machine.end(error)
        try:
            watched.findings = judged(machine.seen, Configs(config), error, scope=machine.scope).outcome.findings
            for line in () if quiet else concise(watched.findings, Paint(), lambda _: False):
                print(line, file=sys.stderr)
        except Exception as wrong:
            _complain(f"internal error: {type(wrong).__name__}: {wrong}; there is no report")


def _complain(what: str) -> None:
    print(f"gradlint: {what}", file=sys.stderr)
