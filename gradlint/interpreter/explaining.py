"""An observer that writes down what the machine believes at chosen rows, and why what it does not know is unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import Announcement, BackwardCalled, Handler
from gradlint.domain.assumption import Assumption
from gradlint.domain.state import MISSING, State
from gradlint.domain.value import Bound, Instance, Ref, Tensor, Unknown, Value
from gradlint.interpreter.belief import Belief, Save, belief, saves_of
from gradlint.interpreter.grad_fn import named
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.result import assumed_of
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.interpreter.watching import Watching, code
from gradlint.source import core
from gradlint.source.core import Instr


class Reason(NamedTuple):
    """Why a value is not known: what it came from, and where."""

    text: str
    node: cst.CSTNode | None


class Seen(NamedTuple):
    """A value that was seen at a row: the expression or variable that had it, and what is believed of it.

    `made` is the operation that made a tensor, and where; `savers` have saved it by then; `reason` is why it is not
    known, `assumed` what was taken for it all the same. `grad_fn` is how torch may call the node that it has.
    """

    node: cst.CSTNode
    name: str
    belief: Belief
    made: tuple[str, cst.CSTNode] | None = None
    savers: tuple[Save, ...] = ()
    reason: Reason | None = None
    assumed: tuple[Assumption, ...] = ()
    grad_fn: tuple[str, ...] = ()


class Explaining(Watching):
    """Looks on while one file is run, and writes down what is believed at the rows."""

    def __init__(self, rows: range | None, row_of: Callable[[cst.CSTNode], int | None]) -> None:
        super().__init__(rows, row_of)
        self._origins: dict[int, tuple[Value, Instr]] = {}
        self.seen: list[Seen] = []
        self.assumed: dict[Assumption, None] = {}
        self.given_up: list[tuple[str, cst.CSTNode | None]] = []
        self.looked: dict[str, set[str]] = {}
        self.methods: dict[cst.CSTNode, str] = {}
        """Methods of tensors that are about to be called."""
        self.backwards: dict[cst.CSTNode, None] = {}
        """Where gradients are asked for, also in other rows."""

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Remember an instruction as the origin of a value that is not known, and see what it has made."""
        dest = getattr(instr, "dest", None)
        for state in states:
            value = MISSING if dest is None else state.locals.get(dest, MISSING)
            if isinstance(value, Unknown):
                self._origins.setdefault(id(value), (value, instr))
        super().after(machine, states, instr)

    def gave_up(self, what: str, node: cst.CSTNode | None) -> None:
        """Write down what is not followed, if it is at a row that is asked for, or concerns all rows after it."""
        if node is None or what == "paths dropped" or self.is_asked(node):
            self.given_up.append((what, node))

    def announced(self, state: State, announcement: Announcement, handlers: tuple[Handler, ...]) -> None:
        """Write down who looks at what happens."""
        if isinstance(announcement, BackwardCalled):
            self.backwards.setdefault(announcement.node)
        if handlers and self.is_asked(announcement.node):
            who = {type(getattr(handler, "__self__", None)).__name__ for handler in handlers}
            self.looked.setdefault(type(announcement).__name__, set()).update(who)

    def see(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        """Write down what is believed of a value."""
        known = belief(machine, state, value)
        ref = known_tensor(machine, state, value)
        record = None if ref is None else state[ref]
        assumed = tuple(_assumed(machine, state, name, value))
        self.assumed.update(dict.fromkeys(machine.assumed))
        if isinstance(record, Tensor):
            made = record.node.op, record.node.syntax
            saves = tuple(saves_of(state, record))
            grad_fn = named(record.node).names if record.node.tracked else ()
            self.seen.append(Seen(node, name, known, made, saves, None, assumed, grad_fn))
        else:
            reason = self._reason(value, name) if isinstance(value, Unknown) else None
            self.seen.append(Seen(node, name, known, reason=reason, assumed=assumed))

    def _see(self, machine: Machine, state: State, node: cst.CSTNode, name: str, value: Value) -> None:
        method = value.function if isinstance(value, Bound) else None
        of_tensor = isinstance(value, Bound) and known_tensor(machine, state, value.receiver) is not None
        if isinstance(method, str) and of_tensor:
            self.methods.setdefault(node, method)
        super()._see(machine, state, node, name, value)

    def _reason(self, value: Unknown, name: str) -> Reason:
        """Return why a value is not known: the call, import or operation that it came from first."""
        if isinstance(value.syntax, cst.Param):
            return Reason(f"`{value.syntax.name.value}` is a parameter, and nobody in sight gives it", value.syntax)
        if value.syntax is not None:
            return Reason(f"the result of `{code(value.syntax)}`, which is not followed", value.syntax)
        _, instr = self._origins.get(id(value), (value, None))
        if isinstance(instr, core.Import):
            return Reason(f"imported from `{instr.path}`, which is not read", instr.node)
        if instr is not None:
            return Reason(f"first seen as `{code(instr.node)}`", instr.node)
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
