"""Hold the tapes that gradlint draws against those that torch records: names of nodes, edges, leaves, saved tensors."""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from gradlint.domain.drawing import Drawing, Step
from gradlint.graph import graph

from .oracle import FILENAME, quiet_run

LEAF = "AccumulateGrad"
MOST = 400
"""How many nodes a tape may have to be compared."""


@dataclass
class Recorded:
    """A node of torch's tape: its name, its inputs that have one, and how many tensors it has saved, if known."""

    name: str
    inputs: list[Recorded] = field(default_factory=list)
    saved: int | None = None


@dataclass
class Tape:
    """The tape behind a tensor at a row; no root where it has no graph."""

    row: int
    name: str
    root: Recorded | None


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
            kept = getattr(function, name)
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


@dataclass
class Score:
    """How drawings agree: facts that are certain and right, certain and wrong, and not certain."""

    right: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    open: Counter[str] = field(default_factory=Counter)
    tapes: int = 0
    whole: int = 0

    def share(self) -> float:
        """Return the share of the certain facts that are right."""
        return sum(self.right.values()) / max(sum(self.right.values()) + len(self.wrong), 1)

    def add(self, other: Score) -> None:
        """Take in another score."""
        self.right += other.right
        self.wrong += other.wrong
        self.open += other.open
        self.tapes += other.tapes
        self.whole += other.whole


def compare(source: str, tape: Tape) -> Score:
    """Draw the tensor of a row, and hold it against torch's tape."""
    drawing = graph(source, FILENAME, tape.row)
    score = Score()
    if not isinstance(drawing, Drawing):
        score.open["drawing"] += 1
        return score
    if drawing.others:
        score.open["drawing"] += 1
        return score
    score.tapes = 1
    if tape.root is None:
        _count(score, drawing.steps[0].kind == "cut", "no graph", tape, drawing.steps[0], "no graph")
        return score
    _Comparison(tape, drawing, score).run()
    return score


def _count(score: Score, is_right: bool, what: str, tape: Tape, step: Step, torch_says: str) -> None:
    if is_right:
        score.right[what] += 1
    else:
        where = f"row {tape.row}, {step.spot.code if step.spot else step.op}"
        score.wrong.append(f"{what} at {where}: drawn {step.names or step.op}, torch {torch_says}")


class _Comparison:
    """Walks over both, as far as they agree."""

    def __init__(self, tape: Tape, drawing: Drawing, score: Score) -> None:
        self._tape, self._drawing, self._score = tape, drawing, score
        self._below: dict[int, list[int]] = {}
        self._sure: dict[int, bool] = {}
        for link in drawing.links:
            if drawing.steps[link.target].kind != "cut":
                self._below.setdefault(link.source, []).append(link.target)
            self._sure[link.source] = self._sure.get(link.source, True) and link.certain
        self._met: set[tuple[int, int]] = set()

    def run(self) -> None:
        """Compare nodes from the root on, and then the leaves."""
        assert self._tape.root is not None
        before = len(self._score.wrong)
        stack = [(0, self._tape.root)]
        whole = True
        while stack:
            number, node = stack.pop()
            if (number, id(node)) in self._met:
                continue
            self._met.add((number, id(node)))
            pairs = self._node(self._drawing.steps[number], node)
            whole = whole and pairs is not None
            stack += pairs or []
        if whole and len(self._score.wrong) == before:
            self._score.whole += 1
            self._leaves()

    def _node(self, step: Step, node: Recorded) -> list[tuple[int, Recorded]] | None:
        """Compare one node, and return the pairs below it; None where it ends here."""
        if step.kind == "unknown" or not step.names:
            self._score.open[f"node of {step.op}"] += 1
            return None
        if step.kind == "leaf":
            _count(self._score, node.name == LEAF, "leaf", self._tape, step, node.name)
            return []
        if not step.certain:
            self._score.open[f"name of {step.op}"] += 1
            if node.name not in step.names:
                self._score.open["node of another name"] += 1
                return None
        else:
            _count(self._score, node.name == step.names[0], "node", self._tape, step, node.name)
            if node.name != step.names[0]:
                return None
            if not step.saves_more and not step.inner and node.saved is not None:
                # Torch also keeps what the operation has computed on the way: masks, statistics.
                is_right = len(step.saves) <= node.saved
                _count(self._score, is_right, "saved", self._tape, step, f"{node.saved} saved")
        return self._pairs(step, node)

    def _pairs(self, step: Step, node: Recorded) -> list[tuple[int, Recorded]] | None:
        expected = list(self._below.get(step.number, []))
        pairs: list[tuple[int, Recorded]] = []
        queue = list(node.inputs)
        strays = 0
        while queue:
            one = queue.pop(0)
            named = [n for n in expected if one.name in self._drawing.steps[n].names]
            number = next(iter(named or [n for n in expected if self._is_open(self._drawing.steps[n], one)]), None)
            if number is not None and not (one.name in step.inner and len(queue) + 1 < len(expected)):
                expected.remove(number)
                pairs.append((number, one))
            elif one.name in step.inner:
                queue = one.inputs + queue
            elif not any(one is met for _, met in pairs):  # Else a second way within the call to the same input.
                strays += 1
        if not step.certain or not self._sure.get(step.number, True):
            self._score.open["edges"] += 1
            return pairs if not expected and not strays else None
        agree = not expected and not strays
        said = ", ".join(one.name for one in node.inputs) or "none"
        drawn = [self._drawing.steps[n].names for n in self._below.get(step.number, [])]
        if agree:
            self._score.right["edges"] += 1
        else:
            code = step.spot.code if step.spot else step.op
            self._score.wrong.append(f"edges at row {self._tape.row}, {code}: drawn {drawn}, torch {said}")
        return pairs if agree else None

    def _is_open(self, step: Step, node: Recorded) -> bool:
        """Say whether a step may be a node, whatever its name; a leaf is drawn as one."""
        return not step.names and node.name != LEAF

    def _leaves(self) -> None:
        """Compare how many leaves get a gradient, if that is certain of all of them."""
        if any(one.gets is None for one in self._drawing.leaves):
            self._score.open["leaves"] += 1
            return
        drawn = sum(one.gets is True for one in self._drawing.leaves)
        assert self._tape.root is not None
        recorded = _count_leaves(self._tape.root)
        if drawn == recorded:
            self._score.right["leaves"] += 1
        else:
            self._score.wrong.append(f"leaves at row {self._tape.row}: drawn {drawn}, torch {recorded}")


def _count_leaves(root: Recorded) -> int:
    seen: dict[int, Recorded] = {}
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) not in seen:
            seen[id(node)] = node
            stack += node.inputs
    return sum(node.name == LEAF for node in seen.values())
