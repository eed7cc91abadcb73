"""Hold the tapes that gradlint draws against those that torch records: names of nodes, edges, leaves, saved tensors."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

import torch

from gradlint.confirm.check.tape import LEAF, Recorded, Score, Tape
from gradlint.confirm.check.tape import compare as compared
from gradlint.domain.drawing import Drawing
from gradlint.graph import graph

from .oracle import FILENAME, quiet_run

MOST = 400
"""How many nodes a tape may have to be compared."""


def tape_of(row: int, name: str, tensor: torch.Tensor) -> Tape | None:
    """Take down the tape behind a tensor; None if it is too long."""
    if not tensor.requires_grad:
        return Tape(row, name, None)
    if tensor.grad_fn is None:
        return Tape(row, name, Recorded(LEAF))
    found: dict[Any, Recorded] = {}

    def node_of(function: Any) -> Recorded:
        if function not in found:
            short = function.name().rpartition("::")[2]
            found[function] = Recorded(short, saved=_saved(function))
            stack.append(function)
        return found[function]

    stack: list[Any] = []
    root = node_of(tensor.grad_fn)
    while stack:
        function = stack.pop()
        if len(found) > MOST:
            return None
        found[function].inputs = [node_of(below) for below, _ in function.next_functions if below is not None]
    return Tape(row, name, root)


def _saved(function: Any) -> int | None:
    """Count the tensors that a node has saved; None where torch does not show them."""
    names = [name.removeprefix("_raw") for name in dir(function) if name.startswith("_raw_saved_")]
    count = 0
    for name in names:
        try:
            kept = getattr(function, name, None)
        except RuntimeError as error:
            if "modified by an inplace operation" not in str(error):
                return None  # Freed by a backward.
            kept = function
        several = kept if isinstance(kept, (tuple, list)) else [kept]
        count += sum(one is not None and not _is_number(one) for one in several)
    return count if function.name().endswith("Backward0") else None


def _is_number(kept: object) -> bool:
    """Say whether a tensor stands for a number of Python's: those are double or long, which the programs hardly are."""
    return isinstance(kept, torch.Tensor) and kept.ndim == 0 and kept.dtype in (torch.float64, torch.int64)


@contextmanager
def taking_down(source: str) -> Iterator[list[Tape]]:
    """Take down, once for each row, the tape of what it assigns to a variable, or backpropagates from."""
    assigned = _assignments(source)
    tapes: dict[int, Tape | None] = {}

    def note(row: int, name: str, value: object) -> None:
        if row not in tapes and isinstance(value, torch.Tensor) and type(value) in (torch.Tensor, torch.nn.Parameter):
            tapes[row] = tape_of(row, name, value)

    found: list[Tape] = []
    backward, tracer = torch.Tensor.backward, sys.gettrace()
    sys.settrace(_tracer(assigned, note))
    torch.Tensor.backward = _noting(backward, note)  # type: ignore[method-assign]
    try:
        yield found
    finally:
        sys.settrace(tracer)
        torch.Tensor.backward = backward  # type: ignore[method-assign]
        found += [one for one in tapes.values() if one is not None]


def _noting(backward: Any, note: Callable[[int, str, object], None]) -> Any:
    def noted(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        frame = sys._getframe(1)
        if frame.f_code.co_filename == FILENAME:
            note(frame.f_lineno, "", self)
        return backward(self, *args, **kwargs)

    return noted


def _assignments(source: str) -> dict[int, str]:
    """Return the variable that each row assigns, of the rows that do just that."""
    statements = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.stmt)]
    rows = Counter(one.lineno for one in statements)
    return {
        one.lineno: one.targets[0].id
        for one in statements
        if isinstance(one, ast.Assign)
        and len(one.targets) == 1
        and isinstance(one.targets[0], ast.Name)
        and one.lineno == one.end_lineno
        and rows[one.lineno] == 1
    }


def _tracer(assigned: dict[int, str], note: Callable[[int, str, object], None]) -> Any:
    last: dict[FrameType, int] = {}

    def local(frame: FrameType, event: str, _: object) -> Any:
        row = last.get(frame)
        if row in assigned and event in ("line", "return"):
            note(row, assigned[row], frame.f_locals.get(assigned[row]))
        last[frame] = frame.f_lineno if event == "line" else 0
        return local

    return lambda frame, *_: local if frame.f_code.co_filename == FILENAME else None


def tapes_of(source: str, code: CodeType | None = None) -> list[Tape]:
    """Execute a program, and take down its tapes; what it raises ends it."""
    compiled = code or compile(source, FILENAME, "exec", dont_inherit=True)
    with taking_down(source) as tapes:
        quiet_run(compiled)
    return tapes


def compare(source: str, tape: Tape) -> Score:
    """Draw the tensor of a row, and hold it against torch's tape."""
    drawing = graph(source, FILENAME, tape.row)
    if not isinstance(drawing, Drawing) or drawing.others:
        return Score(open=Counter(["drawing"]))
    if tape.name not in ("", drawing.title):
        # What the row gives to the variable is not known, or less of interest than the root of its `grad`.
        return Score(open=Counter(["another tensor of the row"]))
    return compared(drawing, tape)
