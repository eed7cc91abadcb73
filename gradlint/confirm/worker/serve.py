"""The loop of the worker: one request is one line of JSON, one answer is one line of JSON."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import sys
import time
import traceback
from typing import IO, Any, NoReturn

import torch
import torch.utils.checkpoint
import torch.utils.data

from gradlint.confirm.ran import Ran
from gradlint.confirm.worker.child import execute

_ANSWER_BYTES = 1 << 18


def serve(fork: bool) -> None:
    """Answer requests until standard input ends; without fork, answer one."""
    torch.set_num_threads(1)
    _warm_up()
    os.environ.clear()
    # What lives now lives in every child; the collector would touch, and so copy, all of its pages.
    gc.freeze()
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        _say(answers, {"torch": torch.__version__, "walls": []})
        for line in sys.stdin:
            request = json.loads(line)
            ran = _in_a_child(request) if fork else execute(request["script"], request["probes"], request["device"])
            _say(answers, ran.to_json())


def _warm_up() -> None:
    """Do once what torch puts off until it is first needed: the first optimizer imports half a compiler."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    torch.autograd.backward(weight.sum())
    optimizer.step()


def _say(answers: IO[str], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


def _in_a_child(request: dict[str, Any]) -> Ran:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_the_child(request, writer)
    os.close(writer)
    begun = time.monotonic()
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        text = _read_in_time(pipe.fileno(), request["seconds"])
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return _outcome(text, status, time.monotonic() - begun, request["seconds"])


def _outcome(text: bytes | None, status: int, taken: float, allowed: float) -> Ran:
    if text is None:
        return Ran("timeout", message=f"no end within {allowed:g} s")
    try:
        return Ran.from_json(json.loads(text))
    except ValueError:
        return Ran("crashed", message=f"the process of the repro died, wait status {status}")


def _read_in_time(descriptor: int, seconds: float) -> bytes | None:
    """All that the child writes, or None if it has not ended in time."""
    end, parts = time.monotonic() + seconds, bytearray()
    while len(parts) < _ANSWER_BYTES:
        if not select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
            return None
        part = os.read(descriptor, 1 << 16)
        if not part:
            break
        parts += part
    return bytes(parts)


def _be_the_child(request: dict[str, Any], writer: int) -> NoReturn:
    """Execute the repro, write the outcome, and end the process whatever happens."""
    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nothing, standard)
        ran = execute(request["script"], request["probes"], request["device"])
        with os.fdopen(writer, "w") as pipe:
            pipe.write(json.dumps(ran.to_json()))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
