"""The base of those who look on while one file is run, and see the values of chosen rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator

import libcst as cst

from gradlint.domain.announcement import Announcement, Handler
from gradlint.domain.state import MISSING, State
from gradlint.domain.value import Bound, Imported, Value
from gradlint.interpreter.machine import Machine
from gradlint.source import core
from gradlint.source.core import Instr
from gradlint.source.lower.syntax import code_of


class Watching(ABC):
    """Sees values at rows. `row_of` gives the row of a node, or None for a node of another file."""

    def __init__(self, rows: Collection[int] | None, row_of: Callable[[cst.CSTNode], int | None]) -> None:
        self._rows = rows
        self._row_of = row_of

    @abstractmethod
    def see(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        """Look at a value at a row that is asked for; `name` is the variable or expression that has it."""

    def before(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """See the variables that an instruction reads."""
        if not self.is_asked(instr.node):
            return
        for state in states:
            for name in _variables(instr):
                self._see(machine, state, instr.node, name, machine.read(state, name))

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """See what an instruction has made."""
        dest = getattr(instr, "dest", None)
        if dest is None or not self.is_asked(instr.node):
            return
        for state in states:
            value = state.locals.get(dest, MISSING)
            if value is not MISSING and not isinstance(value, Imported):
                self._see(machine, state, instr.node, f"{dest} =" if isinstance(dest, str) else code(instr.node), value)

    def gave_up(self, what: str, node: cst.CSTNode | None) -> None:
        """Hear that something is not followed."""
        return

    def announced(self, state: State, announcement: Announcement, handlers: tuple[Handler, ...]) -> None:
        """Hear what is announced."""
        return

    def is_asked(self, node: cst.CSTNode) -> bool:
        """Return whether a node begins in one of the rows."""
        row = self._row_of(node)
        return row is not None and (self._rows is None or row in self._rows)

    def _see(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        if not (isinstance(value, Bound) and isinstance(value.function, str)):
            self.see(machine, state, node, name, value)  # Else a method of torch's or Python's own, about to be called.


def code(node: cst.CSTNode) -> str:
    """Return the source of a node in one line."""
    text = " ".join(code_of(node).split()).rstrip(", ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _variables(instr: Instr) -> Iterator[str]:
    """Yield the variables that an instruction reads; a destination is none."""
    for slot in type(instr).__slots__:
        value = getattr(instr, slot, None) if slot in _OPERANDS else None
        if isinstance(value, str):
            yield value
    if isinstance(instr, core.Call):
        yield from (one.operand for one in instr.args if isinstance(one.operand, str))
    elif isinstance(instr, core.Make):
        yield from (operand for _, operand in instr.items if isinstance(operand, str))


_OPERANDS = frozenset(
    {"src", "value", "obj", "index", "left", "right", "operand", "func", "test", "iterable", "context", "subject"}
)
"""The slots of instructions that hold an operand; a string in them is the name of a variable."""
