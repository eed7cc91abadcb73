"""The loop of the worker: one line of JSON asks, one line answers."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType

import torch
import torch.utils.checkpoint
import torch.utils.data

from gradlint.confirm.run.protocol import NOT_DECIDED, Ran, Request, decode, encode, patience
from gradlint.confirm.worker.child import Prepared, be_the_child

_LONGEST_ANSWER = 1 << 18


def serve(fork: bool, without: Collection[str] = ()) -> None:
    """Answer requests until standard input ends; without fork, answer one and end.

    `without` names walls to leave out, for the tests of the others.
    """
    answers = os.dup(sys.stdout.fileno())
    torch.set_num_threads(1)
    _warm_up()
    os.environ.clear()
    prepared = Prepared.now(without)
    # What lives now lives in every child; the collector would touch, and so copy, all of its pages.
    gc.freeze()
    _say(answers, json.dumps({"torch": str(torch.__version__), "walls": prepared.walls.names}) + "\n")
    taken = Taken()
    for line in sys.stdin:
        request = Request(**json.loads(line))
        if request.slips and (name := taken.any_of(request.slips)) is not None:
            denied = Ran("denied", message=f"`{name}` is the name of something, and no slip")
            _say(answers, f"{request.token} {encode(denied)}\n")
            continue
        if not fork:
            be_the_child(request, prepared, answers, _end_with_input())
        _say(answers, f"{request.token} {encode(_in_a_child(request, prepared))}\n")


def _warm_up() -> None:
    """Do once what torch puts off until it is first needed: the first optimizer imports half a compiler.

    Each class of optimizers is altered by torch itself when it is first used.
    """
    for make in _optimizers():
        make([torch.ones(2, 2, requires_grad=True)], lr=0.1)
    weight = torch.ones(2, 2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    torch.autograd.backward(weight.sum())
    optimizer.step()
    # Forward mode compiles some operators when it is first used.
    torch.func.jvp(torch.sin, (torch.ones(2),), (torch.ones(2),))


def _optimizers() -> list[Callable[..., torch.optim.Optimizer]]:
    base = torch.optim.Optimizer
    return [kind for kind in vars(torch.optim).values() if isinstance(kind, type) and base in kind.__mro__[1:]]


def _say(descriptor: int, text: str) -> None:
    rest = text.encode()
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _in_a_child(request: Request, prepared: Prepared) -> Ran:
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        prepared.walls.end_with(parent)
        os.close(reader)
        # A group of its own, so that all of it can be ended.
        os.setpgid(0, 0)
        be_the_child(request, prepared, writer)
    os.close(writer)
    begun = time.monotonic()
    text = _read_in_time(reader, patience(request.seconds))
    os.close(reader)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    # What neither ended nor computed has used up the time of whoever waits.
    taken = time.monotonic() - begun if text is None else usage.ru_utime + usage.ru_stime
    return _outcome(text, status, request)._replace(seconds=taken)


def _end_with_input() -> int:
    """End this process when its standard input ends, for then nobody waits; return the descriptor that this needs."""
    descriptor, read, leave = os.dup(sys.stdin.fileno()), os.read, os._exit

    def wait() -> None:
        read(descriptor, 1)
        leave(1)

    threading.Thread(target=wait, daemon=True).start()
    return descriptor


def _outcome(text: str | None, status: int, request: Request) -> Ran:
    if text is None:
        return Ran("timeout", message=f"{NOT_DECIDED} no end within {patience(request.seconds):g} s by the clock")
    ran = decode(text, request.token)
    if ran is not None:
        return ran
    if text:
        return Ran("denied", message="the repro wrote where only its judge may write")
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if ended_by in (getattr(signal, "SIGSYS", -1), getattr(signal, "SIGXFSZ", -1)):
        return Ran("denied", message="a system call that computing does not need")
    if ended_by in (signal.SIGPROF, signal.SIGXCPU):
        return Ran("timeout", message=f"no end within {request.seconds:g} s of processor time")
    return Ran("crashed", message=f"the process of the repro died, wait status {status}")


def _read_in_time(descriptor: int, seconds: float) -> str | None:
    """Return all that the child writes, or None if it has not ended in time, or if nobody waits for it any more."""
    end, parts = time.monotonic() + seconds, bytearray()
    while len(parts) < _LONGEST_ANSWER:
        # There is one request at a time, so that something on standard input can only be its end.
        ready = select.select([descriptor, sys.stdin], [], [], max(0.0, end - time.monotonic()))[0]
        if descriptor not in ready:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        parts += part
    return parts.decode(errors="replace")


class Taken:
    """All names of attributes of classes and modules, and all that some function reads or sets; gathered once."""

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None

    def any_of(self, names: Iterable[str]) -> str | None:
        """Return one of the names that something has, if there is any."""
        if self._names is None:
            self._names = frozenset(_gathered())
        return next((name for name in names if name in self._names), None)


def _gathered() -> Iterator[str]:
    # What is frozen is not among the objects; it is frozen again for the children to come.
    gc.unfreeze()
    with warnings.catch_warnings():
        # To ask some old objects of torch for their class is to be warned of them.
        warnings.simplefilter("ignore")
        for one in gc.get_objects():
            kind = type(one)
            if issubclass(kind, (type, ModuleType)):
                yield from map(str, vars(one))
            elif kind is FunctionType:
                yield from _named(one.__code__)
    gc.freeze()


def _named(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant)
