"""An observer that draws the tapes behind the tensors of chosen rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import Announcement, BackwardCalled, Handler, ModuleEntered, Operated
from gradlint.domain.drawing import Drawing, Spot, TooLargeError
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Value
from gradlint.interpreter.drawing import Drawer, Notes, Origin
from gradlint.interpreter.grad_fn import given_to
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at
from gradlint.interpreter.watching import Watching, code
from gradlint.source.core import Instr

READ, ASSIGNED, ROOT = range(3)
"""Why a tensor is worth drawing: a row reads or computes it, gives it to a variable, or backpropagates from it."""


class Candidate(NamedTuple):
    """A tensor of a row: its name there, why it is worth drawing, and the drawing, if it is not too large."""

    row: int
    title: str
    reason: int
    has_graph: bool
    drawing: Drawing | None


class Tapes(Watching):
    """Draws each tensor of the rows. `column_of` gives where a node begins, `locate` the place of one of any file."""

    def __init__(
        self,
        filename: str,
        rows: Collection[int],
        column: int | None,
        row_of: Callable[[cst.CSTNode], int | None],
        column_of: Callable[[cst.CSTNode], int],
        locate: Callable[[Machine, cst.CSTNode | None], Spot | None],
    ) -> None:
        super().__init__(rows, row_of)
        self._filename, self._column = filename, column
        self._column_of, self._locate = column_of, locate
        self._notes = Notes({}, {}, {})
        self._machine: Machine | None = None
        self._entered: Ref | None = None
        self.candidates: list[Candidate] = []
        self.others: dict[str, None] = {}

    def before(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Remember which machine runs, and see what an instruction reads."""
        self._machine = machine
        super().before(machine, states, instr)

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Note who holds a new tensor first, and in which calls; and see it, if its row is asked for."""
        dest = getattr(instr, "dest", None)
        for state in states:
            value = None if dest is None else state.locals.get(dest)
            record = state.heap.get(value.id) if isinstance(value, Ref) else None
            if isinstance(record, Tensor):
                self._note(record, dest if isinstance(dest, str) else None, state)
        super().after(machine, states, instr)

    def announced(self, state: State, announcement: Announcement, handlers: tuple[Handler, ...]) -> None:
        """Note what an operation was given, and see the root of a backward."""
        assert self._machine is not None, "something runs before it is announced"
        if isinstance(announcement, ModuleEntered):
            self._entered = announcement.module
        elif isinstance(announcement, Operated) and announcement.operands:
            given = given_to(self._machine, state, announcement, self._entered)
            self._notes.calls[id(announcement.operands)] = given
        elif isinstance(announcement, BackwardCalled) and self.is_asked(announcement.node):
            self._draw(state, announcement.root, code(announcement.node), ROOT, announcement.node)

    def see(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        """Draw a value that is a tensor. The variable of a comprehension is none that its row gives a value to."""
        ref, title = known_tensor(machine, state, value), name.removesuffix(" =")
        if ref is not None:
            is_given = name.endswith(" =") and not isinstance(node, cst.CompFor)
            self._draw(state, ref, title, ASSIGNED if is_given else READ, node)
        elif name.isidentifier() or name.endswith(" ="):
            self.others.setdefault(title)

    def _note(self, record: Tensor, label: str | None, state: State) -> None:
        number = record.node.id
        known = self._notes.origins.get(number)
        if known is None or known.label is None:
            self._notes.origins[number] = Origin(label, state.site if known is None else known.site)
        self._notes.sizes.setdefault(number, (record.shape, record.dtype))

    def _draw(self, state: State, ref: Ref, title: str, reason: int, node: cst.CSTNode) -> None:
        if self._column is not None and self._column_of(node) != self._column:
            return
        row = self._row_of(node)
        assert self._machine is not None and row is not None, "something runs in an own row before it is seen"
        record = tensor_at(state, ref)
        drawer = Drawer(self._machine, state, self._notes, partial(self._locate, self._machine))
        try:
            drawing = drawer.draw(record, self._filename, row, title)
        except TooLargeError:
            drawing = None
        self.candidates.append(Candidate(row, title, reason, record.grad is not False, drawing))
