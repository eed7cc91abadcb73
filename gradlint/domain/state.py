"""A state of the abstract machine: what one path through the program has made so far.

States are copied on write: a fork shares everything with its parent until one of the two changes something. `dirty`
holds the addresses and frames written since the fork, so that a join compares only these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import compress
from operator import is_not
from typing import Final, NamedTuple, TypeAlias, TypeVar

import libcst as cst

from gradlint.domain.graph import Node, Site, Tri, fresh_number
from gradlint.domain.size import CAN_BE_LARGE, bounded, bounded_record
from gradlint.domain.value import VALUES, File, Function, Instance, Record, Ref, Unknown, Value, Write

Kind = TypeVar("Kind", bound=Record)

Names: TypeAlias = "dict[str | int, Value]"
"""The variables of a frame by name, its temporaries by number."""


class Missing(Enum):
    """What a look-up gives for a name that is not bound, as None is a value."""

    MISSING = 0


MISSING: Final = Missing.MISSING


@dataclass(frozen=True)
class PathFact:
    """The type of keys in `State.facts` under which detectors keep what they know of a path, or of an object on it.

    What is kept under them outlives loops; where two paths differ in it, it is forgotten. `State.mark` keeps the two
    apart instead. Keys of two subclasses differ.
    """

    address: int = 0


class LastingFact(PathFact):
    """The type of keys of facts that outlast a join: where one of two paths has them, they go on as a `OneSided`.

    `State.lasting` looks them up.
    """

    def progress(self, fact: object) -> int:
        """Return how far a fact of this key is: of those of two paths, the one that is further counts for both."""
        return 0


class OneSided(NamedTuple):
    """A fact that one of two joined paths had, and the tests that had come out otherwise on the `other` path."""

    fact: object
    decided: tuple[tuple[object, bool], ...]
    other: object = None


fresh_address = fresh_number
"""An address never used before; later ones are larger, so a number tells what is older than a fork."""


class Fork(NamedTuple):
    """A fork in the history of a state: what has a smaller number both sides share."""

    number: int
    parent: Fork | None
    depth: int


def shared_until(one: Fork | None, other: Fork | None) -> int:
    """Return the number of the last fork that two histories have in common."""
    while one is not other:
        if one is None or (other is not None and other.depth > one.depth):
            assert other is not None
            other = other.parent
        else:
            one = one.parent
    return 0 if one is None else one.number


class Blocked(NamedTuple):
    """Why grad mode is off: `kind` is "no_grad" for a block or a decorator, "grad-off" for a call that stays."""

    kind: str | None
    syntax: cst.CSTNode | None


GradMode: TypeAlias = "tuple[Tri, Tri, Blocked | None]"
"""Whether grad mode and inference mode are on, and why grad mode is off."""


class Frame(NamedTuple):
    """The variables and temporaries of a call, a class body or a file, and what the machine knows of them.

    `outer` is the frame that encloses it, `function` what was called; a file has neither, but the sources of its star
    imports. `captured`: a function closes over it. `yields`: the list of what a generator has yielded.
    """

    names: Names
    outer: int | None = None
    function: Function | None = None
    file: str | None = None
    stars: tuple[File | str, ...] = ()
    of_class: bool = False
    captured: bool = False
    yields: Ref | None = None

    def values(self) -> Iterator[Value]:
        """Yield all that is alive as long as the frame is."""
        yield from self.names.values()
        yield self.yields


def rebound(now: Names, before: Names) -> Iterator[str | int]:
    """Return the names of a frame that had another value before; those that are new are left out."""
    # Nearly all are the same: they are passed over without an iteration of Python's own.
    return compress(before, map(is_not, before.values(), map(now.get, before, before.values())))


SOME = "some"
"""The key under which facts hold what `State.some` returns."""

CHOSEN = "chosen"
"""The key under which facts hold when this path last left a loop by one of several ways, which no test tells apart."""


@dataclass(slots=True, eq=False)
class State:
    """Heap, frames, and what is known of the path: the truth of tests, the grad mode.

    `marks`: facts of detectors that hold on this path; paths that differ in them are not joined. `severed`: the nodes
    of which a result was detached in place, so that it is unknown what a backward through the others finds.
    """

    heap: dict[int, Record] = field(default_factory=dict)
    frames: dict[int, Frame] = field(default_factory=dict)
    facts: dict[object, object] = field(default_factory=dict)
    escaped: int = 0
    freed: dict[int, cst.CSTNode | None] = field(default_factory=dict)
    trained: int = 0
    spent: frozenset[int] = frozenset()
    once: frozenset[int] = frozenset()
    twice: frozenset[int] = frozenset()
    marks: frozenset[PathFact] = frozenset()
    severed: frozenset[int] = frozenset()
    history: Fork | None = None
    grad: Tri = True
    blocked: Blocked | None = None
    inference: Tri = False
    off: tuple[int, cst.CSTNode] | None = None
    site: Site = None
    frame: int = 0
    locals: Names = field(default_factory=dict)
    dirty: set[int] = field(default_factory=set)
    dirty_frames: set[int] = field(default_factory=set)
    _owns_heap: bool = True
    _owned: set[int] = field(default_factory=set)

    def fork(self) -> State:
        """Return a second state that goes on from here; its dirt is counted from now."""
        other = State.__new__(State)
        depth = 0 if self.history is None else self.history.depth + 1
        other.history = self.history = Fork(fresh_number(), self.history, depth)
        other.heap = self.heap
        other.frames = self.frames.copy()
        other.escaped = self.escaped
        other.facts = self.facts
        other.freed = self.freed
        other.trained = self.trained
        other.spent, other.once, other.twice = self.spent, self.once, self.twice
        other.marks = self.marks
        other.severed = self.severed
        other.grad = self.grad
        other.blocked = self.blocked
        other.inference = self.inference
        other.off = self.off
        other.site = self.site
        other.frame = self.frame
        other.locals = self.locals
        other.dirty = set()
        other.dirty_frames = set()
        other._owns_heap = self._owns_heap = False
        other._owned = set()
        self._owned = set()
        return other

    # The heap.

    def __getitem__(self, ref: Ref) -> Record:
        return self.heap[ref.id]

    def at(self, ref: Ref, kind: type[Kind]) -> Kind:
        """Return the record at an address where such a one certainly stands."""
        record = self.heap[ref.id]
        assert isinstance(record, kind)
        return record

    def put(self, address: int, record: Record) -> None:
        """Replace what stands at an address."""
        if not self._owns_heap:
            self.heap = self.heap.copy()
            self._owns_heap = True
        self.heap[address] = record if type(record) not in CAN_BE_LARGE else bounded_record(record)
        self.dirty.add(address)

    def new(self, record: Record) -> Ref:
        """Store a record at a fresh address."""
        address = fresh_number()
        self.put(address, record)
        return Ref(address)

    def admit(self, frames: dict[int, Frame], heap: dict[int, Record]) -> None:
        """Take in what another file left; what is here already stays as it is."""
        self.frames = {**frames, **self.frames}
        self.heap = {**heap, **self.heap}
        self._owns_heap = True

    def writes(self, counter: int) -> tuple[Write, ...]:
        """Return the writes that a version counter, or a memory for hidden ones, has seen."""
        return self.heap.get(counter, ())  # type: ignore[return-value]

    def become(self, other: State) -> None:
        """Go on as another state does: for calls made where a program cannot split."""
        for slot in State.__slots__:
            setattr(self, slot, getattr(other, slot))

    def views(self, base: int) -> tuple[int, ...]:
        """Return the addresses of the views of a tensor; they stand at its negated address."""
        return self.heap.get(-base, ())  # type: ignore[return-value]

    # Frames.

    def enter(self, number: int, frame: Frame) -> int:
        """Make a new frame the current one, and return the former."""
        former = self.frame
        self.frame = number
        self.frames[number] = frame
        self.locals = frame.names
        self._owned.add(number)
        return former

    def leave(self, former: int) -> None:
        """Go back to the frame of the caller."""
        self.frame = former
        self.locals = self.frames[former].names

    def set(self, name: str | int, value: Value) -> None:
        """Assign a variable or temporary of the current frame."""
        if self.frame not in self._owned:
            self.locals = self._own(self.frame)
        self.locals[name] = value if type(value) not in CAN_BE_LARGE else self._bounded(value)
        self.dirty_frames.add(self.frame)

    def set_in(self, frame: int, name: str | int, value: Value) -> None:
        """Assign a variable of any frame."""
        if frame == self.frame:
            self.set(name, value)
            return
        names = self.frames[frame].names if frame in self._owned else self._own(frame)
        names[name] = value if type(value) not in CAN_BE_LARGE else self._bounded(value)
        self.dirty_frames.add(frame)

    def _bounded(self, value: Value) -> Value:
        """Return a value, or something unknown for one that is too large: then the graphs in it are out of sight."""
        kept = bounded(value)
        if kept is not value:
            self.escape()
        return kept

    def _own(self, number: int) -> Names:
        """Copy the variables of a frame that another state may share."""
        former = self.frames[number]
        self.frames[number] = frame = Frame._make((former.names.copy(), *former[1:]))
        self._owned.add(number)
        return frame.names

    @property
    def function(self) -> Function | None:
        """The function that is running."""
        return self.frames[self.frame].function

    def drop(self, name: str | int) -> None:
        """Unbind a variable of the current frame."""
        if name in self.locals:
            self.set(name, None)
            del self.locals[name]

    # The tape.

    def free(self, nodes: list[int], syntax: cst.CSTNode | None) -> None:
        """Remember which nodes a backward has freed, and where; without a place, that it raised on them."""
        self.freed = {**self.freed, **dict.fromkeys(nodes, syntax)}

    def sever(self, node: Node) -> None:
        """Note that a result of a node is detached in place: a backward through the rest may not reach it."""
        self.severed |= {node.id}
        self.freed = {number: place for number, place in self.freed.items() if number != node.id}

    def frees(self, node: Node) -> Tri:
        """Return whether a backward through a node frees something, so that a second one raises."""
        return None if node.id in self.severed else node.frees

    def spend(self, roots: Iterable[int]) -> None:
        """Remember the roots of a backward that did not retain the graph: it is of no use any more."""
        self.spent = self.spent.union(roots)

    def retain(self, nodes: frozenset[int]) -> None:
        """Remember what backwards that retain the graph have run through, once and more often."""
        self.twice |= self.once & nodes
        self.once |= nodes

    def escape(self) -> None:
        """Note that a graph went where gradlint does not look: gradients of older leaves may have been filled there."""
        self.escaped = fresh_number()

    # The path.

    def unrecorded(self) -> Blocked | None:
        """Why operations are certainly not recorded here."""
        if self.grad is not False:
            return None
        return self.blocked or Blocked("no_grad", None)

    def decide(self, key: object, truth: object) -> None:
        """Remember that a test came out this way."""
        self.facts = {**self.facts, key: truth}

    def forget_tests(self, former: State) -> None:
        """Forget how tests came out since a former state: other paths, on which they came out otherwise, go on here."""

        def is_test(key: object) -> bool:
            return isinstance(key, Unknown) or (type(key) is tuple and key[0] in ("is", "type"))

        if self.facts is not former.facts:
            self.facts = {key: fact for key, fact in self.facts.items() if key in former.facts or not is_test(key)}
            if self.some() != former.some():
                self.facts[SOME] = former.some()

    def some(self) -> tuple[frozenset[tuple[Unknown, bool]], ...]:
        """Return groups of tests, and how they came out: of each one did, whichever of the joined paths was taken."""
        found = self.facts.get(SOME, ())
        return found if isinstance(found, tuple) else ()

    def allow_attributes(self, other: State) -> None:
        """Let objects have attributes, of which nothing is known, that they have on another path that goes on here."""
        for address in other.dirty:
            own, record = self.heap.get(address), other.heap.get(address)
            if isinstance(own, Instance) and isinstance(record, Instance) and record.attrs.keys() - own.attrs.keys():
                self.put(address, own._replace(attrs={**dict.fromkeys(record.attrs, Unknown()), **own.attrs}))

    def lasting(self, key: LastingFact) -> object:
        """Return a fact that this path has, or one that was joined to it has had, if what was decided allows it."""
        found = self.facts.get(key)
        if not isinstance(found, OneSided):
            return found
        if found.other is None:
            return found.fact if all(self.facts.get(test, truth) is truth for test, truth in found.decided) else None
        if found.decided and all(self.facts.get(test) is (not truth) for test, truth in found.decided):
            return found.other
        if any(self.facts.get(test) is truth for test, truth in found.decided):
            return found.fact
        return max((found.fact, found.other), key=key.progress)  # Undecided: whichever path was run first.

    def tensor_of(self, value: Unknown) -> Ref | None:
        """Return the tensor that something unknown has been shown to be."""
        found = self.facts.get(("tensor", value))
        return found if type(found) is Ref else None

    def attribute_of(self, obj: Ref | Unknown, name: str) -> Value:
        """Return what the program has assigned to an attribute of an object without known attributes, or None."""
        found = self.facts.get(("set", obj, name))
        return found if isinstance(found, VALUES) else None

    def mark(self, fact: PathFact, holds: bool) -> None:
        """Note whether a fact holds on this path, which is not joined with one on which that is otherwise."""
        self.marks = self.marks | {fact} if holds else self.marks - {fact}

    def undecided_since(self, address: int) -> bool:
        """Return whether this path has forked since something was made: forks are facts by their numbers."""
        return any(type(key) is int and key > address for key in self.facts)

    def chosen_since(self, address: int) -> bool:
        """Return whether this path has forked since something was made, or has left a loop by one of several ways."""
        last = self.facts.get(CHOSEN)
        return self.undecided_since(address) or (type(last) is int and last > address)
