"""An observer that writes down what the machine believes at chosen rows, and why what it does not know is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import Announcement, Handler
from gradlint.domain.assumption import Assumption
from gradlint.domain.state import MISSING, State
from gradlint.domain.value import Bound, Imported, Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.belief import Belief, Save, belief, saves_of
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.result import assumed_of
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.source import core
from gradlint.source.core import Instr
from gradlint.source.lower.syntax import code_of


class Reason(NamedTuple):
    """Why a value is not known: what it came from, and where."""

    text: str
    node: cst.CSTNode | None


class Seen(NamedTuple):
    """A value that was seen at a row: the expression or variable that had it, and what is believed of it.

    `made` is the operation that made a tensor, and where; `savers` have saved it by then; `reason` is why it is not
    known, `assumed` what was taken for it all the same.
    """

    node: cst.CSTNode
    name: str
    belief: Belief
    made: tuple[str, cst.CSTNode] | None = None
    savers: tuple[Save, ...] = ()
    reason: Reason | None = None
    assumed: tuple[Assumption, ...] = ()


class Explaining:
    """Looks on while one file is run. `row_of` gives the row of a node, or None for a node of another file."""

    def __init__(self, rows: range | None, row_of: Callable[[cst.CSTNode], int | None]) -> None:
        self._rows = rows
        self._row_of = row_of
        self._origins: dict[int, tuple[Value, Instr]] = {}
        self.seen: list[Seen] = []
        self.assumed: dict[Assumption, None] = {}
        self.given_up: list[tuple[str, cst.CSTNode | None]] = []
        self.looked: dict[str, set[str]] = {}

    def before(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Write down the variables that an instruction reads."""
        if not self._is_asked(instr.node):
            return
        for state in states:
            for name in _variables(instr):
                self._look(machine, state, instr.node, name, machine.read(state, name))

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Write down what an instruction has made, and remember it as the origin of a value that is not known."""
        dest = getattr(instr, "dest", None)
        if dest is None:
            return
        asked = self._is_asked(instr.node)
        for state in states:
            value = state.locals.get(dest, MISSING)
            if isinstance(value, Unknown):
                self._origins.setdefault(id(value), (value, instr))
            if asked and value is not MISSING and not isinstance(value, Imported):
                name = f"{dest} =" if isinstance(dest, str) else _code(instr.node)
                self._look(machine, state, instr.node, name, value)

    def gave_up(self, what: str, node: cst.CSTNode | None) -> None:
        """Write down what is not followed, if it is at a row that is asked for, or concerns all rows after it."""
        if node is None or what == "paths dropped" or self._is_asked(node):
            self.given_up.append((what, node))

    def announced(self, announcement: Announcement, handlers: tuple[Handler, ...]) -> None:
        """Write down who looks at what happens."""
        if handlers and self._is_asked(announcement.node):
            who = {type(getattr(handler, "__self__", None)).__name__ for handler in handlers}
            self.looked.setdefault(type(announcement).__name__, set()).update(who)

    def _is_asked(self, node: cst.CSTNode) -> bool:
        row = self._row_of(node)
        return row is not None and (self._rows is None or row in self._rows)

    def _look(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        if isinstance(value, Bound) and isinstance(value.function, str):
            return  # A method of torch's or Python's own, about to be called.
        known = belief(machine, state, value)
        ref = known_tensor(machine, state, value)
        record = None if ref is None else state[ref]
        assumed = tuple(_assumed(machine, state, name, value))
        self.assumed.update(dict.fromkeys(machine.assumed))
        if isinstance(record, Tensor):
            made = record.node.op, record.node.syntax
            self.seen.append(Seen(node, name, known, made, tuple(saves_of(state, record)), None, assumed))
        else:
            reason = self._reason(value, name) if isinstance(value, Unknown) else None
            self.seen.append(Seen(node, name, known, reason=reason, assumed=assumed))

    def _reason(self, value: Unknown, name: str) -> Reason:
        """Return why a value is not known: the call, import or operation that it came from first."""
        if isinstance(value.syntax, cst.Param):
            return Reason(f"`{value.syntax.name.value}` is a parameter, and nobody in sight gives it", value.syntax)
        if value.syntax is not None:
            return Reason(f"the result of `{_code(value.syntax)}`, which is not followed", value.syntax)
        _, instr = self._origins.get(id(value), (value, None))
        if isinstance(instr, core.Import):
            return Reason(f"imported from `{instr.path}`, which is not read", instr.node)
        if instr is not None:
            return Reason(f"first seen as `{_code(instr.node)}`", instr.node)
        return Reason(f"`{name}` is bound outside what is run: a parameter, or a name of another scope", None)


def _assumed(machine: Machine, state: State, name: str, value: Value) -> Iterator[Assumption]:
    """Yield what is assumed of the object that stands in for a value, of the variable that has it, and of its size."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    params = {param.node for param in machine.stack[-1].params} if machine.stack else set()
    for one in machine.assumed:
        visible = one.node in params or not isinstance(one.node, cst.Param)
        if (one.subject == name and visible) or (isinstance(record, Instance) and record.syntax is one.node):
            yield one
    if isinstance(record, Tensor):
        yield from assumed_of(record)


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


def _code(node: cst.CSTNode) -> str:
    """Return the source of a node in one line."""
    text = " ".join(code_of(node).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
