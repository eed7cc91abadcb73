"""The abstract machine: runs core blocks on states, keeps the budget, and collects events.

A block is run on several states side by side. An instruction that cannot split changes each state in place; one
that can (`If`, loops, calls of the program's functions) takes the states and gives back those that go on. Ways out
of a block other than its end are collected in `exits`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

import libcst as cst

from gradlint.domain import announcement as happening
from gradlint.domain.announcement import Announcement, Handler, Listener, handlers
from gradlint.domain.assumption import Assumption
from gradlint.domain.clock import look_at_clock
from gradlint.domain.event import Event, Refusal
from gradlint.domain.graph import Node
from gradlint.domain.join import Join
from gradlint.domain.otherwise import left_out
from gradlint.domain.shape import Sym
from gradlint.domain.state import MISSING, State
from gradlint.domain.value import Args, Imported, Ref, Unknown, Value
from gradlint.interpreter.program import Program
from gradlint.interpreter.python.consumer import Consumer
from gradlint.interpreter.reachable import Search
from gradlint.interpreter.sides import Sides
from gradlint.interpreter.torch.transform.level import Level
from gradlint.source.core import Block, Code, Const, Instr, Operand

KEPT = 4
"""How many states may go on side by side after a branch; more are dropped, and counted."""

DEPTH = 12
"""How deep calls of the program's functions are followed."""

OTHER_FILES = 0.3
"""The steps for code of other files, as a share of those for the file itself. `Machine.allowance` is what is left of
them; while such code runs, `Machine.foreign_limit` is the budget at which no more of its calls are followed."""


INSTALLED = 0.1
"""The steps for code of installed packages, as a share of those for the file. `Machine.installed_left` is what is left
of them. While such code runs, `Machine.entrance` is the call that led there, `Machine.own_limit` the limit outside, and
`Machine.entrances` collects for each function of it, and of other files, the calls from outside that led to it."""

INSTALLED_CALL = 400
"""The steps of one call of it. Calls in it are not followed beyond; in twice that time it is given up."""


class Exit(NamedTuple):
    """A way out of a block: `kind` is "return", "break", "continue" or "raise"."""

    kind: str
    state: State
    value: Value = None


class Lenient(NamedTuple):
    """A custom function that was applied: its backward, its `ctx`, and the nodes of its results.

    None stands for a result that has no gradient in any backward.
    """

    backward: Value
    ctx: Ref
    results: tuple[Node | None, ...]


class Region(NamedTuple):
    """What to restore after a stretch of the program: the outer dirt, and where its exits begin."""

    dirty: set[int]
    frames: set[int]
    first_exit: int


class OutOfBudgetError(Exception):
    """The file has had its steps; what was not interpreted stays silent."""


class Observer(Protocol):
    """Who looks on while a machine runs, for `gradlint explain`; it changes nothing."""

    def before(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Look at the states that an instruction is about to run on."""

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Look at the states that an instruction has led to."""

    def gave_up(self, what: str, node: cst.CSTNode | None) -> None:
        """Hear that something is not followed."""

    def announced(self, state: State, announcement: Announcement, handlers: tuple[Handler, ...]) -> None:
        """Hear what was announced, and to which methods of listeners."""


Simple: TypeAlias = "Callable[[Machine, State, Instr], None]"
Splitting: TypeAlias = "Callable[[Machine, list[State], Instr], list[State]]"
Native: TypeAlias = "Callable[[Machine, State, Args, cst.CSTNode], Value]"
"""What a call of a library's function does: the interpreter's own code in place of the function's body."""

Method: TypeAlias = "Callable[[Machine, State, Ref, Args, cst.CSTNode], Value]"
"""The same of an object, which comes before the arguments."""


class Machine(ABC):
    """One run over one file.

    It knows neither Python nor torch: `interpreter.Interpreter` does.

    `iterations` says when the iterations that run began, from the outermost loop in. By the addresses of leaves:
    `frozen` where the flag of one that required grad was switched off, `optimized` those given to an optimizer.
    """

    def __init__(self, program: Program, budget: int) -> None:
        self.program = program
        self.budget = budget
        self.steps = budget
        self.worked = 0
        self.limit = 0
        self.allowance = int(budget * OTHER_FILES)
        self.foreign_limit: int | None = None
        self.installed_left = int(budget * INSTALLED)
        self.entrance: cst.CSTNode | None = None
        self.entrances: dict[cst.CSTNode, set[cst.CSTNode]] = {}
        self.own_limit = 0
        self.detour = 0
        self.events: list[Event] = []
        self.give_ups: Counter[str] = Counter()
        self.exits: list[Exit] = []
        self.lost: list[State] = []
        """The paths that the instruction which runs has ended: Python raises on them."""
        self.stack: list[Code] = []
        self.iterations: list[int] = []
        self.called: set[Code] = set()
        self.watched: set[int] = set()
        self.expected = self.caught = 0
        """How many blocks around what runs expect it to fail, and how many handle what torch raises, if it does."""
        self.tried = 0
        """How many blocks of `try` that handle exceptions are around what runs: it may ask whether something raises."""
        self.warned = 0
        self.unpacked: set[int] = set()
        self.differentiated: dict[int, cst.CSTNode | None] = {}
        self.pushed: set[int] = set()
        """Each `ctx` with which a `jvp` runs now."""
        self.backwards = 0
        self.asked = 0
        """How often a backward or a gradient was asked for."""
        self.reentering: dict[int, object] = {}
        """By its node, a custom function whose backward asks for a backward or a gradient itself."""
        self.default_set = False
        self.graphs_in_question = False
        """Whether a detector waits for the end to say something of graphs which no backward elsewhere runs through."""
        self.written = 0
        """How many writes in place there were to what may have a graph."""
        self.passed: set[Hashable] = set()
        self.doubtful: list[tuple[Event, Hashable]] = []
        self.escaped: dict[int, object] = {}
        self.search = Search()
        self.frozen: dict[int, cst.CSTNode] = {}
        self.optimized: set[int] = set()
        self.raising: dict[int, Callable[[cst.CSTNode], Refusal]] = {}
        """The nodes of the tape that raise in any backward, each with what makes the refusal of one."""
        self.mutable: list[tuple[int, int, cst.CSTNode | None]] = []
        """The blocks of `allow_mutation_on_saved_tensors` that have ended: the numbers of the nodes made in each."""
        self.constant_gradients: set[int] = set()
        self.kept: dict[int, tuple[Value, ...]] = {}
        """By the node of a custom function, what it was given to save."""
        self.lenient: dict[int, Lenient] = {}
        """By its node, a custom function whose backward gets None for a result without a gradient."""
        self.operators: dict[str, Ref] = {}
        """The custom operations that the program defines, by name with namespace."""
        self.without_backward: dict[int, set[int]] = {}
        """By a custom operation, the nodes that it made before a gradient was registered."""
        self.random_backwards: set[int] = set()
        """The nodes of custom functions whose backward certainly computes its gradient from random numbers."""
        self.once: set[int] = set()
        """The nodes of custom functions whose backward is marked with `once_differentiable`."""
        self.by_views: set[int] = set()
        """The nodes of writes to views, which torch records as `CopySlices`."""
        self.inferences: set[cst.CSTNode | None] = set()
        self.guarded = 0
        self.transforms: list[Level] = []
        self.left: dict[int, Level] = {}
        """By the nodes of values that stood for several, the `vmap` that has run its function on them."""
        self.reentrant: dict[int, tuple[bool, frozenset[int]]] = {}
        self.recomputed: dict[int, object] = {}
        self.checkpoints: list[cst.CSTNode] = []
        """The checkpoints, not reentrant ones, whose function runs now, from the outermost in."""
        self.hides_parameters = False
        """Whether an optimizer trains a network that is not in sight."""
        self.hooked: set[int] = set()
        self.consumers: dict[int, Consumer] = {}
        self.hooked_elsewhere: set[Value] = set()
        self.setters: dict[Value, Value] = {}
        """By the getter of a property, the function that sets it."""
        self.in_hooks: set[Value] = set()
        """The modules of which a hook runs now."""
        self.in_turn: set[int] = set()
        """The modules that call their parts now."""
        self.writer: cst.CSTNode | None = None
        """The constructor of the module that is called now and writes in place."""
        self.sizes: dict[Unknown, Sym] = {}
        self._symbols: dict[tuple[object, ...], Unknown] = {}
        self.observer: Observer | None = None
        self.assumes = True
        """Whether values may be made up for what nobody in sight gives."""
        self.entered: cst.CSTNode | None = None
        """The call by which this file has run into the code of another, while it runs."""
        self.sides = Sides()
        self.path = State()
        """The path on which something happens."""
        self.assumed: tuple[Assumption, ...] = ()
        """What has been assumed on the way to what is run now."""
        self.all_assumed: tuple[Assumption, ...] = ()
        self.listeners: tuple[Listener, ...] = ()
        self._handlers = handlers(())

    def assume(self, assumption: Assumption) -> None:
        """Let what is run from here on rest on an assumption."""
        if assumption not in self.assumed:
            self.assumed = (*self.assumed, assumption)
        if assumption not in self.all_assumed:
            self.all_assumed = (*self.all_assumed, assumption)

    @contextmanager
    def assuming(self, *alone: Assumption) -> Iterator[None]:
        """Let what is assumed in the block count for what is run in it alone; `alone` is all that it rests on."""
        former, self.assumed = self.assumed, alone or self.assumed
        try:
            yield
        finally:
            self.assumed = former

    # Announcements.

    def listen(self, listeners: Iterable[Listener]) -> None:
        """Announce what happens to these from now on."""
        self.listeners = tuple(listeners)
        self._handlers = handlers(self.listeners)

    def announce(self, state: State, announcement: Announcement) -> None:
        """Call the listeners with what happens on the path of a state."""
        self.path = state
        for hear in self._handlers[type(announcement)]:
            hear(state, announcement)
        if self.observer is not None:
            self.observer.announced(state, announcement, self._handlers[type(announcement)])

    @property
    def inference_mode(self) -> cst.CSTNode | None:
        """The one call that has switched inference mode on in this run; None if there are several."""
        return next(iter(self.inferences)) if len(self.inferences) == 1 else None

    # Running.

    def run(self, block: Block, states: list[State]) -> list[State]:
        """Return the states that reach the end of the block."""
        if not states:
            return states
        simple, splitting, observer = SIMPLE, SPLITTING, self.observer
        for instr in block:
            if observer is not None:
                observer.before(self, states, instr)
            kind = type(instr)
            step = simple.get(kind)
            if step is not None:
                self.budget -= len(states)
                for state in states:
                    self.path = state
                    step(self, state, instr)
                if self.lost:
                    states = self._without_lost(states)
            else:
                states = splitting[kind](self, states, instr)
            if observer is not None:
                observer.after(self, states, instr)
            if not states:
                return states
        if self.budget < self.limit:
            raise OutOfBudgetError
        look_at_clock()
        return states

    def work(self, count: int = 1) -> None:
        """Count what one instruction does beside itself: operations, calls, objects copied or looked at.

        All of that together may be no more than the file has steps: in programs that people write each instruction does
        little, and in those that want to hurt one instruction may do anything.
        """
        self.worked += count
        if self.worked > self.steps:
            raise OutOfBudgetError
        look_at_clock()

    def _without_lost(self, states: list[State]) -> list[State]:
        """Return the paths that go on where some have raised."""
        self.exits.extend(Exit("raise", state) for state in self.lost)
        kept = [state for state in states if not any(state is one for one in self.lost)]
        self.lost.clear()
        return kept

    def give_up(self, what: str, node: cst.CSTNode | None = None, count: int = 1) -> None:
        """Count what is not followed: an operation or a call, or paths of the program; `node` is where."""
        self.give_ups[what] += count
        if self.observer is not None:
            self.observer.gave_up(what, node)

    def join(
        self, states: list[State], outs: tuple[str | int, ...] = (), node: cst.CSTNode | None = None
    ) -> list[State]:
        """Join the states that agree since the innermost open region began; keep at most `KEPT`, after `node`."""
        if len(states) < 2:
            return states
        kept: list[State] = []
        for state in states:
            for index, other in enumerate(kept):
                attempt = Join(other, state, self.watched)
                joined = attempt.attempt(outs)
                if joined is not None:
                    if attempt.nodes or attempt.renamed:
                        alike = happening.PathsJoined(self.program.nowhere, attempt.nodes, attempt.renamed)
                        self.announce(joined, alike)
                    kept[index] = joined
                    break
            else:
                kept.append(state)
        for index in left_out(len(kept), KEPT):
            self.give_up("paths dropped", node)
            self.share_graphs(kept.pop(index))
        return kept

    def share_graphs(self, path: State) -> None:
        """Announce that the graphs of a path that is not followed any more may be backpropagated on it."""
        if self.program.may_backpropagate and self.search.left > 0:
            graphs = tuple(self.search.graphs(path, path.frames[path.frame].values()))
            if graphs:
                self.announce(path, happening.GraphsShared(self.program.nowhere, graphs))

    @contextmanager
    def bounded(self, share: float) -> Iterator[None]:
        """Give a part of the program its share of the steps; what runs out of them is given up, and counted."""
        with self.within(max(self.limit, self.budget - int(share * self.steps))):
            yield

    @contextmanager
    def within(self, limit: int, otherwise: str = "out of steps") -> Iterator[None]:
        """Run a part of the program as long as there are more steps left than a limit; count it if it is given up."""
        outer, self.limit = self.limit, limit
        depth, exits, loops = len(self.stack), len(self.exits), len(self.iterations)
        around = self.expected, self.caught, self.guarded, self.tried
        try:
            yield
        except OutOfBudgetError:
            self.give_up(otherwise)
            del self.stack[depth:]
            del self.exits[exits:]
            self.expected, self.caught, self.guarded, self.tried = around
            del self.iterations[loops:]
        finally:
            self.limit = outer

    @contextmanager
    def in_own_file(self) -> Iterator[None]:
        """Run code of the file itself between that of another file: its steps are its own."""
        foreign, limit, before = self.foreign_limit, self.limit, self.budget
        entrance, self.entrance = self.entrance, None
        self.foreign_limit = None
        if entrance is not None:
            self.limit = self.own_limit
        try:
            yield
        finally:
            used = before - self.budget
            self.detour += used if foreign is not None else 0
            self.foreign_limit = None if foreign is None else foreign - used
            self.limit = limit - used if entrance is not None else limit
            self.entrance = entrance

    def end(self, state: State) -> tuple[list[Event], list[Event]]:
        """End the run; return what was seen, and what the program leaves undone."""
        node = self.program.nowhere
        self.assumed = self.all_assumed
        self.announce(state, happening.PathsEnded(node))
        seen = len(self.events)
        self.announce(state, happening.RunEnded(node, self.is_complete))
        dispelled = {id(event) for event, place in self.doubtful if place in self.passed}
        said = self.sides.resting(event for event in self.events[:seen] if id(event) not in dispelled)
        return [event for event in said if self.assumes or not event.assumptions], self.events[seen:]

    @property
    def is_complete(self) -> bool:
        """Whether all of the program was followed, so that what was not seen never happens."""
        dropped = self.give_ups["paths dropped"] > 0 and not self.program.may_backpropagate
        return self.search.left > 0 and not dropped and self.give_ups["out of steps"] == 0

    # What all of Python and torch is needed for.

    @abstractmethod
    def call(self, state: State, func: Value, args: Args, node: cst.CSTNode) -> Value:
        """Call any value where the program cannot split: of several outcomes the first that remains goes on."""

    @abstractmethod
    def imported(self, state: State, name: Imported) -> Value:
        """Return the value of a name that another file of the program binds."""

    @abstractmethod
    def unbound(self, state: State, name: str, number: int) -> Value:
        """Return the value of a name that no scope of the program binds; frame `number` is the file's."""

    # Values.

    def read(self, state: State, operand: Operand) -> Value:
        """Return the value of an operand."""
        value = state.locals.get(operand, MISSING)  # type: ignore[arg-type]
        if value is not MISSING:
            return value if type(value) is not Imported else self.imported(state, value)
        if type(operand) is Const:
            return operand.value
        if type(operand) is str:
            return self.look_up(state, operand)
        return self.symbol("unset", operand)

    def look_up(self, state: State, name: str) -> Value:
        """Return a variable that the current frame does not bind: enclosing frames, module, builtins."""
        number = state.frame
        while (outer := state.frames[number].outer) is not None:
            number = outer
            value = state.frames[number].names.get(name, MISSING)
            if value is not MISSING:
                return value if type(value) is not Imported else self.imported(state, value)
        return self.unbound(state, name, number)

    def symbol(self, *key: object, kind: str | None = None, syntax: cst.CSTNode | None = None) -> Unknown:
        """Return the symbol for an expression over unknowns: one for each key, made at the first place."""
        try:
            found = self._symbols.get(key)
        except TypeError:  # An unhashable part, such as a slice: no two expressions are known to be the same.
            return Unknown(kind, syntax=syntax)
        if found is None:
            found = self._symbols[key] = Unknown(kind, key=key, syntax=syntax)
        return found

    # Events.

    def emit(self, event: Event, unless: Hashable = None) -> None:
        """Record an event once; one that the program expects to fail, or whose warning it looks at, is not reported.

        With `unless` it counts only if no path passes that place without it.
        """
        if self.expected or (self.warned and event.warned) or (event.assumptions and not self.assumes):
            return
        if self.assumed:
            event = replace(event, assumptions=tuple(dict.fromkeys((*self.assumed, *event.assumptions))))
        if self.entered is not None:
            event = replace(event, caller=self.entered)
            self.sides.meet(event, self.path)
        if self.entrance is not None or self.caught:
            event = replace(event, installed=self.entrance is not None, caught=self.caught > 0)
        self.events.append(event)
        if unless is not None:
            self.doubtful.append((event, unless))

    def passes(self, place: Hashable) -> None:
        """Note that a path passes a place, and that what was emitted `unless` one does is no fault."""
        self.passed.add(place)

    # Regions: stretches of the program at whose end states may be joined.

    def open(self, state: State) -> Region:
        """Begin to count what a state writes."""
        region = Region(state.dirty, state.dirty_frames, len(self.exits))
        state.dirty, state.dirty_frames = set(), set()
        return region

    def close(self, states: list[State], region: Region) -> None:
        """Count what was written before the region again, for all states that left it."""
        dirty, frames, first_exit = region
        for state in states:
            state.dirty |= dirty
            state.dirty_frames |= frames
        for exit in self.exits[first_exit:]:
            exit.state.dirty |= dirty
            exit.state.dirty_frames |= frames


SIMPLE: dict[type[Instr], Simple] = {}
SPLITTING: dict[type[Instr], Splitting] = {}
Kind = TypeVar("Kind", bound=Instr)


def simple(kind: type[Kind], step: Callable[[Machine, State, Kind], None]) -> None:
    """Register the step of an instruction that changes each state in place."""
    SIMPLE[kind] = step  # type: ignore[assignment]  # `run` calls it with instructions of this kind only.


def splitting(kind: type[Kind], step: Callable[[Machine, list[State], Kind], list[State]]) -> None:
    """Register the step of an instruction after which there may be more states, or fewer."""
    SPLITTING[kind] = step  # type: ignore[assignment]  # As above.


def splitting_each(kind: type[Kind], step: Callable[[Machine, State, Kind], list[State]]) -> None:
    """Register the step of one state; those that went in apart are joined where they agree after it."""

    def steps(machine: Machine, states: list[State], instr: Kind) -> list[State]:
        after = [end for state in states for end in step(machine, state, instr)]
        return machine.join(after) if len(states) > 1 else after

    splitting(kind, steps)
