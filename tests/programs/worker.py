"""Execute programs under torch: one process has torch loaded and forks a child for each program.

It reads one job per line from standard input, `{"files", "entry", "shows"}`, and writes one reply per line.
"""

from __future__ import annotations

import ast
import contextlib
import json
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch._dynamo
import torch.distributed
import torch.func
import torch.nn.parallel
import torch.utils.checkpoint
import torch.utils.data

from tests.harness.forked import forked

from .witness import Witness, graph_size

STANDINS = Path(__file__).parent / "standins"
TIME_LIMIT = 60


def main() -> None:
    """Serve until standard input ends."""
    torch.set_num_threads(1)
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)


def serve(job: dict[str, Any]) -> dict[str, Any]:
    """Run one job in a child of its own and in a folder of its own."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="program-"))
    try:
        for name, text in job["files"].items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        started = time.perf_counter()
        reply, status = forked(lambda: _run(folder, job), TIME_LIMIT)
        if reply is None:
            reply = {"outcome": "died", "error": f"status {status}; more than {TIME_LIMIT} seconds, or a crash"}
        return {**reply, "seconds": time.perf_counter() - started}
    finally:
        shutil.rmtree(folder)


def _run(folder: str, job: dict[str, Any]) -> dict[str, Any]:
    """Run the program in this process and say how it ended."""
    _prepare(folder, job["entry"])
    witness = Witness(folder)
    with _quiet(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        witness.install(caught)
        try:
            names = _execute(Path(folder, job["entry"]))
        except Exception as error:
            return _raised(folder, error)
    shown = [_show(expression, names, witness) for expression in job["shows"]]
    return {"outcome": "ran", "shown": shown, "warnings": witness.user_warnings()}


def _prepare(folder: str, entry: str) -> None:
    """Make the child look like a fresh `python entry`: folder, path, arguments, seeds."""
    os.chdir(folder)
    script_folder = Path(folder, entry).parent
    start = script_folder.parent if (script_folder / "__init__.py").exists() else script_folder
    sys.path[:] = [str(start), str(STANDINS), *sys.path]
    sys.argv = [entry]
    # A script for several processes finds itself alone in its world; port 0 is any free one.
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", LOCAL_RANK="0", WORLD_SIZE="1")
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


def _execute(path: Path) -> dict[str, Any]:
    """Execute a file as `__main__`, as a module of its package if it stands in one."""
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    module.__package__ = path.parent.name if (path.parent / "__init__.py").exists() else None
    sys.modules["__main__"] = module
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module.__dict__


def _raised(folder: str, error: Exception) -> dict[str, Any]:
    """The error, and the innermost line of the program that led to it."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(folder)]
    place = {"file": os.path.relpath(own[-1].filename, folder), "line": own[-1].lineno} if own else {}
    return {"outcome": "raised", "error": f"{type(error).__name__}: {error}", **place}


def _show(expression: str, names: dict[str, Any], witness: Witness) -> bool | str:
    """The truth of a snippet's last line; the text of an error if it raised one."""
    scope = {"torch": torch, "np": np, **names, "witness": witness, "graph_size": graph_size}
    *statements, last = ast.parse(expression.strip()).body
    if not isinstance(last, ast.Expr):
        return "the last line of `shows` is no expression"
    try:
        with _quiet():
            exec(compile(ast.Module(statements, []), "<shows>", "exec"), scope)
            return bool(eval(compile(ast.Expression(last.value), "<shows>", "eval"), scope))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Programs talk; their output is not ours."""
    with contextlib.ExitStack() as stack:
        nowhere = stack.enter_context(open(os.devnull, "w"))
        stack.enter_context(contextlib.redirect_stdout(nowhere))
        stack.enter_context(contextlib.redirect_stderr(nowhere))
        yield


if __name__ == "__main__":
    main()
