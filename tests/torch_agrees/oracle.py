"""Torch executes programs and says what happens: the only source of labels."""

from __future__ import annotations

import ast
import io
import random
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from multiprocessing import get_context
from types import CodeType, ModuleType, TracebackType
from typing import Literal

import numpy as np
import torch

from .classify import NON_LEAF_GRAD, NON_LEAF_WARNING, SILENT, STALE, class_of
from .several_files import PROGRAM, files_of
from .witness import Delicate, Gradients, Stale, Witness

FILENAME = PROGRAM
SECONDS = 30

Kind = Literal["ok", "fails", "doubtful", "dropped"]


@dataclass(frozen=True)
class Outcome:
    """What torch did with a program.

    `ok`: it ran, and every gradient is right. `fails`: a mistake of class `error`; `line` is where torch
    raised or warned (None if it said nothing), `culprits` are lines that caused it, and the backward that ran
    a function in which torch raised. `doubtful`: it ran, with gradients that are not finite, or with saved
    values changed to no effect. `dropped`: another error.
    """

    kind: Kind
    error: str | None = None
    line: int | None = None
    culprits: tuple[int, ...] = ()
    message: str = ""


@dataclass(frozen=True)
class _Run:
    """One execution: the exception with its line in the program, the warned line, and the gradients seen.

    `backward` is the line of the backward in which torch called the function that raised.
    """

    exception: Exception | None
    line: int | None
    backward: int | None
    warned: int | None
    gradients: Gradients


def _expired(*_: object) -> None:
    raise TimeoutError(f"the program ran for more than {SECONDS} seconds")


@contextmanager
def _fresh_torch() -> Iterator[None]:
    """Give the program a known state and put everything back that it may have set."""
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    argv, sys.argv = sys.argv, [FILENAME]
    previous = signal.signal(signal.SIGALRM, _expired)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with torch.enable_grad():
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        sys.argv = argv
        torch.set_default_dtype(torch.float32)


def _lines_of(traceback: TracebackType | None) -> tuple[int | None, int | None]:
    """Return the innermost line of the program itself in a traceback, and that of the backward around it."""
    line = backward = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == FILENAME:
            line = traceback.tb_lineno
        elif code.co_name == "_engine_run_backward":
            backward = line
        traceback = traceback.tb_next
    return line, backward


_Code = dict[str, CodeType]
"""The files of a program in the order in which they are run, by the names under which they import one another."""

_MAIN = "__main__"


def _compiled(source: str) -> _Code:
    files = files_of(source)
    names = [*(file.module for file in files[:-1]), _MAIN]
    codes = (compile(file.text, FILENAME, "exec", dont_inherit=True) for file in files)
    return dict(zip(names, codes, strict=True))


@contextmanager
def _modules(names: Sequence[str]) -> Iterator[list[ModuleType]]:
    """Give the files modules that can import one another, the program's own last."""
    modules = [ModuleType(name) for name in names]
    for module in modules:
        module.__file__, module.__package__ = FILENAME, names[0].rpartition(".")[0]
    importable = {module.__name__: module for module in modules[:-1]}
    sys.modules.update(importable)
    try:
        yield modules
    finally:
        for name in importable:
            del sys.modules[name]


def _execute(code: _Code) -> _Run:
    gradients = Gradients()
    exception: Exception | None = None
    with warnings.catch_warnings(record=True) as caught, _fresh_torch(), gradients.recording():
        warnings.simplefilter("always")
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            try:
                with _modules(list(code)) as modules:
                    for text, module in zip(code.values(), modules, strict=True):
                        exec(text, module.__dict__)
            except Exception as raised:
                exception = raised
    warned = [entry.lineno for entry in caught if NON_LEAF_WARNING in str(entry.message)]
    line, backward = _lines_of(exception.__traceback__ if exception is not None else None)
    return _Run(exception, line, backward, warned[0] if warned else None, gradients)


def quiet_run(code: CodeType) -> None:
    """Execute a program that needs no helpers, without its output; what it raises ends it."""
    _execute({_MAIN: code})


def run(source: str) -> Outcome:
    """Execute a program and say what torch makes of it."""
    try:
        code = _compiled(source)
    except SyntaxError as error:
        return Outcome("dropped", message=f"SyntaxError: {error}")
    plain = _execute(code)
    if plain.exception is not None:
        return _failure(code, source, plain)
    if plain.warned is not None:
        return Outcome("fails", NON_LEAF_GRAD, plain.warned, (), NON_LEAF_WARNING)
    return _silence(code, source, plain)


def _failure(code: _Code, source: str, plain: _Run) -> Outcome:
    found = _classified(code, source, plain)
    if plain.backward in (None, found.line) or found.kind == "dropped":
        return found
    return replace(found, culprits=(*found.culprits, plain.backward))


def _classified(code: _Code, source: str, plain: _Run) -> Outcome:
    message = f"{type(plain.exception).__name__}: {plain.exception}".split("\n")[0][:200]
    error = class_of(str(plain.exception))
    if error is None or plain.line is None:
        return Outcome("dropped", message=message)
    if error == "none-grad" and plain.warned is not None:
        return Outcome("fails", NON_LEAF_GRAD, plain.warned, (plain.line,), message)
    if error in ("multi-view", "overlap"):
        return Outcome("fails", error, plain.line, _delicate_writers(code), message)
    if error == "none-grad":
        return Outcome("fails", error, plain.line, rebindings(source, plain.line), message)
    if error in ("custom", "hook-result"):
        return Outcome("fails", error, plain.line, definitions(source, error), message)
    if error != "saved-modified":
        return Outcome("fails", error, plain.line, (), message)
    culprits = _writers(code)
    lines = source.split("\n")
    if any("step(" in lines[culprit - 1] for culprit in culprits):
        error = STALE
    return Outcome("fails", error, plain.line, culprits, message)


def _writers(code: _Code) -> tuple[int, ...]:
    """Return the lines that wrote to the saved tensor on which backward fails."""
    witness = Witness(FILENAME, stop_when_stale=True)
    with witness.watching(lines=True):
        again = _execute(code)
    return again.exception.lines if isinstance(again.exception, Stale) else ()


def _delicate_writers(code: _Code) -> tuple[int, ...]:
    """Return the lines that wrote to memory that torch guards, before it found out."""
    witness = Delicate(FILENAME)
    with witness.watching():
        _execute(code)
    return tuple(sorted(witness.lines))


def rebindings(source: str, line: int) -> tuple[int, ...]:
    """Return the lines that rebind what has its `.grad` used in a line: `w = w - lr * w.grad`."""
    tree = ast.parse(source)
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "grad"]
    used = {ast.unparse(node.value) for node in attributes if node.lineno == line}
    return tuple(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and node.lineno != line
        and any(ast.unparse(target) in used for target in node.targets)
        and any(isinstance(inner, ast.expr) and ast.unparse(inner) in used for inner in ast.walk(node.value))
    )


def definitions(source: str, error: str) -> tuple[int, ...]:
    """Return the lines of what torch calls during backward: of custom functions, or of hooks and their registration."""
    walked = ast.walk(ast.parse(source))
    nodes: list[ast.expr | ast.stmt] = [node for node in walked if isinstance(node, (ast.expr, ast.stmt))]
    if error == "custom":
        return tuple(line for node in nodes if isinstance(node, ast.ClassDef) for line in _lines(node, "Function"))
    hooks = [node for node in nodes if isinstance(node, ast.Call) and "_hook" in ast.unparse(node.func)]
    named = {ast.unparse(argument) for hook in hooks for argument in hook.args}
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in named]
    called: list[ast.expr | ast.stmt] = [*hooks, *functions]
    return tuple(line for node in called for line in _lines(node))


def _lines(node: ast.expr | ast.stmt, base: str = "") -> range:
    """Return the lines of a piece of syntax; none of a class without such a base."""
    if isinstance(node, ast.ClassDef) and not any(base in ast.unparse(one) for one in node.bases):
        return range(0)
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _silence(code: _Code, source: str, plain: _Run) -> Outcome:
    """Judge a run without complaint by the gradient that the values saved in the forward pass give."""
    if not plain.gradients.finite():
        return Outcome("doubtful", message="a gradient is not finite")
    witness = Witness(FILENAME, stop_when_stale=False)
    with witness.watching(lines=False):
        right = _execute(code)
    if "support saved tensor hooks" in str(right.exception):
        return Outcome("ok")  # A transform keeps the witness out; it has no tensors that others could write to.
    if right.exception is not None:
        return Outcome("dropped", message=f"not repeatable: {right.exception}"[:200])
    wrong = not plain.gradients.same_as(right.gradients)
    watcher = Witness(FILENAME, stop_when_stale=False)
    if wrong or witness.changed:
        with watcher.watching(lines=True):
            _execute(code)
    culprits = tuple(sorted(watcher.lines))
    hidden = any(door in source for door in (".data", "numpy"))
    if wrong:
        return Outcome("fails", SILENT, None, culprits, "the gradient is not the one of the values saved")
    if witness.changed and hidden:
        # Without such a door it was torch: batch norm moves its running statistics without a version.
        return Outcome("doubtful", None, None, culprits, "a saved value changed, to no effect on the gradient")
    return Outcome("ok")


def prepare_worker() -> None:
    """Make a worker process ready: one thread, and what torch imports late imported before any clock runs."""
    torch.set_num_threads(1)
    parameter = torch.nn.Parameter(torch.ones(1))
    for optimizer in (torch.optim.SGD([parameter], lr=0.1), torch.optim.Adam([parameter])):
        parameter.grad = torch.ones(1)
        optimizer.step()


def run_all(sources: Sequence[str], jobs: int) -> list[Outcome]:
    """Execute many programs in worker processes; the outcomes come in the order of the programs."""
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=prepare_worker) as workers:
        return list(workers.map(run, sources, chunksize=20))
