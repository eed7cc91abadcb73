"""The process that executes programs under torch: it has torch loaded and forks a child for each program.

One request is one line of JSON on standard input (`code`, `shows`, `seconds`), one answer is one line on
standard output. A fork costs little, and what a program does to global state of torch does not meet the next. The
seconds are of processor time: on a busy machine a program has as many as on an idle one.
"""

from __future__ import annotations

import json
import linecache
import os
import select
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable
from typing import Any, TextIO

import torch
import torch.utils.data

from tests.harness.measures import MEASURES
from tests.harness.program import FILENAME, Fact, Outcome, Raised, Revealed

_PATIENCE = 10.0
"""How often its processor time a program may take by the clock."""


def main() -> None:
    """Answer requests until standard input ends."""
    torch.set_num_threads(1)
    # The first optimizer imports half a compiler; done here, it is done once instead of in each child.
    torch.optim.SGD([torch.zeros(1)], lr=0.1)
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as answers:
        for request in sys.stdin:
            _answer(json.loads(request), answers)


def _answer(request: dict[str, Any], answers: TextIO) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _be_the_child(request, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = _read_in_time(pipe.fileno(), request["seconds"] * _PATIENCE)
    if text is None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    is_late = text is None or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF)
    why = f"no end within {request['seconds']} s" if is_late else f"the process died, wait status {status}"
    print(text or json.dumps(Outcome(broken=why).to_json()), file=answers, flush=True)


def _read_in_time(descriptor: int, seconds: float) -> str | None:
    """All that the child writes, or None if it does not come to an end."""
    end, parts = time.monotonic() + seconds, list[bytes]()
    while select.select([descriptor], [], [], max(0.0, end - time.monotonic()))[0]:
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)
    return None


def _be_the_child(request: dict[str, Any], writer: int) -> None:
    """Execute the program, write the outcome, and end the process whatever happens."""
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1):
            os.dup2(silence, standard)
        # What a program warns of is not judged here, and a warning must not stop it.
        warnings.simplefilter("ignore")
        signal.setitimer(signal.ITIMER_PROF, request["seconds"])
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            outcome = execute(request["code"], request["shows"])
        with os.fdopen(writer, "w") as pipe:
            pipe.write(json.dumps(outcome.to_json()))
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def execute(code: str, shows: str | None) -> Outcome:
    """Run a program as `__main__` in a namespace of its own and measure what it does."""
    module = types.ModuleType("__main__")
    reveals: list[Revealed] = []
    module.__dict__["reveal"] = _recorder(reveals)
    sys.modules["__main__"] = module
    # The lines are put where tracebacks and `inspect` look for them.
    linecache.cache[FILENAME] = (len(code), None, code.splitlines(keepends=True), FILENAME)
    torch.manual_seed(0)
    try:
        exec(compile(code, FILENAME, "exec", dont_inherit=True), module.__dict__)
    except Exception as exception:
        raised = Raised(type(exception).__name__, str(exception), _line_of(exception))
        return Outcome(raised, tuple(reveals))
    if shows is None:
        return Outcome(reveals=tuple(reveals))
    try:
        return Outcome(reveals=tuple(reveals), shown=bool(eval(shows, {**module.__dict__, **MEASURES})))
    except Exception as exception:
        return Outcome(reveals=tuple(reveals), broken=f"`shows` raised {exception!r}")


def _line_of(exception: Exception) -> int | None:
    if isinstance(exception, SyntaxError):
        return exception.lineno
    frames = traceback.extract_tb(exception.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == FILENAME), None)


def _recorder(reveals: list[Revealed]) -> Callable[[object], None]:
    def reveal(value: object) -> None:
        """Stand in for gradlint's `reveal`: write down the facts of a value, and the line that asks."""
        line = sys._getframe(1).f_lineno
        reveals.append(Revealed(line, _facts(value) if isinstance(value, torch.Tensor) else {}))

    return reveal


def _facts(value: torch.Tensor) -> dict[str, Fact]:
    facts: dict[str, Fact] = {
        "requires_grad": value.requires_grad,
        "is_leaf": value.is_leaf,
        "shape": tuple(value.shape),
        "dtype": str(value.dtype).removeprefix("torch."),
        "has_grad_fn": value.grad_fn is not None,
    }
    # An inference tensor has no version counter, and asking for it raises.
    return facts if value.is_inference() else {**facts, "version": value._version}


if __name__ == "__main__":
    main()
