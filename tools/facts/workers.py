"""Run each unit of work in a forked process: a crash of torch costs one unit, and nothing leaks between."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NamedTuple

from tools.facts.units import Measured

TIMEOUT = 240.0


class Job(NamedTuple):
    """A process under way."""

    unit: str
    process: BaseProcess
    started: float


def run_units(units: Mapping[str, Callable[[], Measured]], jobs: int) -> Iterator[Measured]:
    """Yield what each unit brought, in the order in which they end; a lost unit is told by a note."""
    context = multiprocessing.get_context("fork")
    waiting = list(units.items())
    running: dict[Connection, Job] = {}
    while waiting or running:
        while waiting and len(running) < jobs:
            name, work = waiting.pop(0)
            receiver, sender = context.Pipe(duplex=False)
            process = context.Process(target=_work, args=(name, work, sender))
            process.start()
            sender.close()
            running[receiver] = Job(name, process, time.monotonic())
        for ready in wait(list(running), timeout=1.0):
            assert isinstance(ready, Connection)
            yield _collect(ready, running.pop(ready))
        for connection, job in list(running.items()):
            if time.monotonic() - job.started > TIMEOUT:
                job.process.kill()
                del running[connection]
                yield Measured(job.unit, notes=[f"{job.unit}: took longer than {TIMEOUT:.0f} s"])


def _work(name: str, work: Callable[[], Measured], sender: Connection) -> None:
    try:
        measured = work()
    except Exception:
        measured = Measured(name, notes=[f"{name}: {traceback.format_exc()}"])
    sender.send(measured)
    sender.close()


def _collect(connection: Connection, job: Job) -> Measured:
    try:
        measured = connection.recv()
    except EOFError:
        job.process.join()
        return Measured(job.unit, notes=[f"{job.unit}: the process ended with code {job.process.exitcode}"])
    job.process.join()
    assert isinstance(measured, Measured)
    return measured
