"""The join of two states: they become one if they agree in all that autograd can see.

Numbers, strings and flags that differ are forgotten (they become unknown); tensors must have the same graph
up to the renaming of what was made since the fork. Where the two do not agree they go on side by side.
"""

from __future__ import annotations

from itertools import compress, filterfalse, repeat
from operator import is_, is_not
from types import EllipsisType
from typing import Any

import libcst as cst

from gradlint.domain import dtype as dtypes
from gradlint.domain import shape as shapes
from gradlint.domain.graph import Edge, Node, Saved
from gradlint.domain.joined_facts import joined_facts
from gradlint.domain.likeness import (
    is_cut,
    is_data,
    is_same_class,
    is_wrapper,
    kind_of,
    origin_of_data,
    place_of_write,
    syntax_of,
)
from gradlint.domain.pinned import pinned
from gradlint.domain.shape import Sym
from gradlint.domain.state import MISSING, State, fresh_address, shared_until
from gradlint.domain.value import (
    Bound,
    Class,
    Context,
    External,
    File,
    Function,
    Imported,
    Inner,
    Instance,
    Mapping,
    ModuleState,
    NoGradient,
    Partial,
    Pending,
    Record,
    Ref,
    Sequence,
    Super,
    Suspended,
    Tensor,
    Unknown,
    Value,
    View,
    assert_never,
    with_values,
)
from gradlint.domain.walk import reachable

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _DisagreementError(Exception):
    """The two states differ in something that autograd can see."""


class Join:
    """One attempt to join state `right` into `left`. What is not younger than their fork, `mark`, they share."""

    def __init__(self, left: State, right: State, watched: set[int]) -> None:
        self.left = left
        self.right = right
        self.mark = shared_until(left.history, right.history)
        self.watched = watched
        self.renamed: dict[int, int] = {}
        self.nodes: set[tuple[int, int]] = set()
        self.updates: list[tuple[int, Record]] = []
        self.aliased: set[int] = set()
        self.truths: dict[object, object] = {}

    def attempt(self, outs: tuple[str | int, ...]) -> State | None:
        """Return the joined state, or None. `outs` are temporaries that are still read."""
        left, right = self.left, self.right
        if left.grad is not right.grad or left.inference is not right.inference or left.marks != right.marks:
            return None
        if left.freed is not right.freed and self._old(left.freed) != self._old(right.freed):
            return None
        if left.severed != right.severed:
            return None
        frames: list[tuple[int, str | int, Value]] = []
        try:
            for address in left.dirty | right.dirty:
                if address <= self.mark:
                    self._record(address, address)
            for frame in left.dirty_frames | right.dirty_frames:
                if frame <= self.mark and frame in left.frames and frame in right.frames:
                    frames.extend(self._frame(frame, outs))
        except _DisagreementError:
            return None
        for address, record in self.updates:
            left.put(address, record)
        for address in self.aliased:
            held = left.heap.get(address)
            if isinstance(held, (Sequence, Mapping)) and not held.open:
                left.put(address, held._replace(open=True))
        for frame, name, value in frames:
            left.set_in(frame, name, value)
        if left.freed is not right.freed:
            left.freed = {**right.freed, **left.freed}
        for slot in ("spent", "once", "twice"):
            ours, theirs = getattr(left, slot), getattr(right, slot)
            if ours is not theirs:
                # What is younger than the fork has the numbers of the left side.
                setattr(left, slot, frozenset(one for one in ours if one > self.mark or one in theirs))
        if left.off != right.off:
            left.off = None
        left.trained = min(left.trained, right.trained)
        left.escaped = max(left.escaped, right.escaped)
        left.dirty |= right.dirty
        left.dirty_frames |= right.dirty_frames
        if left.facts is not right.facts:
            left.facts = joined_facts(left.facts, right.facts, (left.some(), right.some()))
        if self.truths:
            left.facts = {**left.facts, **self.truths}
        return left

    def _old(self, freed: dict[int, cst.CSTNode | None]) -> set[int]:
        """Return the freed nodes that both states know."""
        return {number for number in freed if number <= self.mark}

    def _frame(self, frame: int, outs: tuple[str | int, ...]) -> list[tuple[int, str | int, Value]]:
        ours, theirs = self.left.frames[frame].names, self.right.frames[frame].names
        if ours is theirs:
            return []
        changes: list[tuple[int, str | int, Value]] = []
        # Nearly all are the same: they are passed over without an iteration of Python's own.
        for name in compress(ours, map(is_not, ours.values(), map(theirs.get, ours, repeat(MISSING)))):
            if type(name) is int and name not in outs:
                continue
            mine, other = ours[name], theirs.get(name, MISSING)
            if other is MISSING:
                self._only_one(self.left, mine)
                changes.append((frame, name, Unknown()))
                continue
            value = self.value(mine, other)
            if value is not mine:
                changes.append((frame, name, value))
        for name in filterfalse(ours.__contains__, theirs):
            if type(name) is str or name in outs:
                self._only_one(self.right, theirs[name])
                changes.append((frame, name, Unknown()))
        return changes

    def _only_one(self, state: State, value: Value) -> None:
        """A variable that one path alone has set may be forgotten, unless autograd can see it."""
        if isinstance(value, Ref) and not self._is_idle(state, value):
            raise _DisagreementError

    def value(self, ours: Value, theirs: Value) -> Value:
        """Return the value that stands for both; what autograd does not see may be forgotten."""
        if ours is theirs:
            return ours
        if type(ours) is Ref and type(theirs) is Ref:
            return (
                self._refs(ours, theirs) if not self._are_containers(ours, theirs) else self._containers(ours, theirs)
            )
        try:
            return self._apart(ours, theirs)
        except _DisagreementError:
            if self._is_idle(self.left, ours) and self._is_idle(self.right, theirs):
                return Unknown()
            raise

    def _are_containers(self, ours: Ref, theirs: Ref) -> bool:
        records = self.left.heap.get(ours.id), self.right.heap.get(theirs.id)
        return all(isinstance(one, (Sequence, Mapping)) for one in records)

    def _containers(self, ours: Ref, theirs: Ref) -> Value:
        renamed, nodes, updates = self.renamed.copy(), self.nodes.copy(), len(self.updates)
        try:
            return self._refs(ours, theirs)
        except _DisagreementError:
            if not self._is_idle(self.left, ours) or not self._is_idle(self.right, theirs):
                raise
        self.renamed, self.nodes = renamed, nodes
        del self.updates[updates:]
        if ours.id != theirs.id:
            # What is put into either by this name is seen in none of them.
            self.aliased |= {address for address in (ours.id, theirs.id) if address <= self.mark}
        return Unknown()

    def _apart(self, ours: Value, theirs: Value) -> Value:
        if isinstance(ours, Unknown) or isinstance(theirs, Unknown):
            return self._unknown(ours, theirs)
        if isinstance(ours, _PLAIN) and isinstance(theirs, _PLAIN):
            if type(ours) is type(theirs) and ours == theirs:
                return ours
            number = isinstance(ours, (int, float)) and isinstance(theirs, (int, float))
            return self._either("number" if number else None, ours, theirs)
        if isinstance(ours, NoGradient) and isinstance(theirs, NoGradient):
            return ours
        if type(ours) is not type(theirs):
            raise _DisagreementError
        match ours:
            case Function():
                alike = isinstance(theirs, Function) and ours.code is theirs.code
            case Bound() if isinstance(theirs, Bound):
                return Bound(self.value(ours.receiver, theirs.receiver), self.value(ours.function, theirs.function))
            case Bound() | External() | Imported() | File() | Partial() | Super() | Context() | Suspended():
                alike = ours == theirs
            case slice():
                alike = True
            case tuple() if isinstance(theirs, tuple):
                return self._tuple(ours, theirs)
            case Ref() | Sym() | NoGradient() | None | bool() | int() | float() | complex() | str() | bytes():
                alike = False  # Alike they are the same, or have been seen to above.
            case tuple() | EllipsisType():
                alike = False
            case _:
                assert_never(ours)
        if not alike:
            raise _DisagreementError
        return ours

    def _either(self, kind: str | None, ours: Value, theirs: Value) -> Unknown:
        """Return what stands for one of two values; it is false if both are, as of `flag and x.requires_grad`."""
        joined, truth = Unknown(kind), _truth(self.left, ours)
        if truth is not None and truth is _truth(self.right, theirs):
            self.truths[joined] = truth
        return joined

    def _tuple(self, ours: tuple[Value, ...], theirs: tuple[Value, ...]) -> Value:
        if len(ours) != len(theirs):
            raise _DisagreementError
        joined = tuple(map(self.value, ours, theirs))
        return ours if all(map(is_, joined, ours)) else joined

    def _unknown(self, ours: Value, theirs: Value) -> Value:
        one, other = _origin(ours), _origin(theirs)
        kinds = {kind_of(ours), kind_of(theirs)}
        kind = kinds.pop() if len(kinds) == 1 else None
        if one is None and other is None:
            mine, yours = pinned(self.left, ours), pinned(self.right, theirs)
            if type(mine) is type(yours) and mine == yours and not isinstance(mine, Unknown):
                return mine  # The one is this constant, the other has been found to be.
            data = origin_of_data(ours)
            return ours if data is not None and origin_of_data(theirs) is not None else self._either(kind, ours, theirs)
        graphs = [origin for origin in (one, other) if origin is not None and origin.tracked is not False]
        if one is not None and other is not None and graphs:
            renamed, nodes, updates = self.renamed.copy(), self.nodes.copy(), len(self.updates)
            try:
                self._node(one, other)
            except _DisagreementError:
                self.renamed, self.nodes = renamed, nodes
                del self.updates[updates:]
            else:
                return ours
        if graphs:
            if not all(map(self._is_shared, graphs)):
                raise _DisagreementError
            if not isinstance(ours, Unknown) or not isinstance(theirs, Unknown):
                return self._or_plain(ours if isinstance(ours, Unknown) else theirs, graphs[0])
            tracked = True if len(graphs) == 2 and all(origin.tracked for origin in graphs) else None
            made = Node(
                "either",
                syntax_of(ours) or graphs[0].syntax,
                [Edge(origin, None) for origin in graphs],
                tracked=tracked,
            )
            return Unknown(kind, made, syntax=syntax_of(ours))
        if one is None or other is None:
            # A number that was computed from tensors on one path, and stands for itself on the other.
            return Unknown(kind, one or other, syntax=syntax_of(ours) or syntax_of(theirs))
        joined = self._provenance(one, other)
        return ours if joined is one else Unknown(kind, joined, syntax=syntax_of(ours))

    def _or_plain(self, value: Value, graph: Node) -> Value:
        """Return what stands for a value that may have a graph, and for a plain one: `else: aux = 0`."""
        if graph.tracked:
            raise _DisagreementError
        return Unknown(None, Node("either", graph.syntax, [Edge(graph, None)], tracked=None), syntax=syntax_of(value))

    def _is_shared(self, graph: Node) -> bool:
        """Return whether the leaves of a graph are known on both paths."""
        young = reachable((graph,), lambda node: [edge.node for edge in node.edges if edge.node.id > self.mark])
        return all(node.leaf is None or node.leaf <= self.mark for node in young)

    def _is_idle(self, state: State, value: Value, *, inside: bool = False) -> bool:
        """Return whether autograd sees nothing of a value: no graph hangs on it, and nothing is computed by calling it.

        `inside` a container tensors without a graph may be forgotten, too.
        """
        if isinstance(value, Unknown):
            return value.origin is None or value.origin.tracked is False
        if isinstance(value, External):
            return not value.path.startswith("torch") or dtypes.is_name(value.path.removeprefix("torch."))
        if isinstance(value, tuple):
            return all(self._is_idle(state, one, inside=True) for one in value)
        if not isinstance(value, Ref):
            return isinstance(value, (*_PLAIN, Sym, slice))
        record = state.heap.get(value.id)
        if isinstance(record, Tensor):
            return inside and is_data(record)
        if isinstance(record, (Sequence, Mapping)) and not inside and value.id not in self.watched:
            items = record.items if isinstance(record, Sequence) else record.items.values()
            return all(self._is_idle(state, one, inside=True) for one in items)
        return False

    def _provenance(self, ours: Node, theirs: Node) -> Node:
        """Return what a value was computed from that no gradient flows back from, on either path."""
        if ours is theirs:
            return ours
        if ours.op == theirs.op and len(ours.edges) == len(theirs.edges):
            renamed, nodes, updates = self.renamed.copy(), self.nodes.copy(), len(self.updates)
            try:
                self._node(ours, theirs)
            except _DisagreementError:
                self.renamed, self.nodes = renamed, nodes
                del self.updates[updates:]
            else:
                return ours
        return Node(
            "either",
            ours.syntax,
            (Edge(ours, False), Edge(theirs, False)),
            cut=ours.cut if ours.cut == theirs.cut else None,
        )

    def _refs(self, ours: Ref, theirs: Ref) -> Ref:
        if ours.id == theirs.id or self.renamed.get(ours.id) == theirs.id:
            return ours
        if is_wrapper(self.left.heap.get(ours.id)) is not is_wrapper(self.right.heap.get(theirs.id)):
            return self._wrapped(ours, theirs)
        if ours.id in self.renamed or ours.id <= self.mark or theirs.id <= self.mark:
            return self._plain_data(ours, theirs)
        self.renamed[ours.id] = theirs.id
        self._record(ours.id, theirs.id)
        return ours

    def _wrapped(self, ours: Ref, theirs: Ref) -> Ref:
        """Join a network and the wrapper of one on the other path: `if args.distributed: model = DDP(model)`.

        What stands for both is a wrapper that is open: it has the attributes of the network inside, too.
        """
        a, b = self.left.heap.get(ours.id), self.right.heap.get(theirs.id)
        wrapper, mine, other = (a, None, theirs) if is_wrapper(a) else (b, ours, None)
        assert isinstance(wrapper, Instance)
        inside = wrapper.attrs.get("module")
        if len(wrapper.attrs) != 1 or not isinstance(inside, Ref):
            raise _DisagreementError
        joined = self._refs(mine or inside, other or inside)
        shared = Ref(fresh_address()) if mine is not None else ours
        self.updates.append((shared.id, wrapper._replace(open=True, attrs={"module": joined})))
        self.renamed[shared.id] = theirs.id
        return shared

    def _plain_data(self, ours: Ref, theirs: Ref) -> Ref:
        """Join two tensors without a leaf, which are alike to autograd: `x = x.cuda()` under a flag.

        What stands for both is a tensor of its own, of which is known what is known of both.
        """
        a, b = self.left.heap.get(ours.id), self.right.heap.get(theirs.id)  # A leaf of a graph may be gone.
        if not (isinstance(a, Tensor) and isinstance(b, Tensor) and is_data(a) and is_data(b)):
            raise _DisagreementError
        if self.watched & {a.counter, b.counter, a.memory, b.memory}:
            raise _DisagreementError  # A later write to one of them, or to what it is a view of, may be seen elsewhere.
        joined = self._data(a, b)
        fresh = Ref(fresh_address())
        self.updates.append(
            (
                fresh.id,
                joined._replace(
                    counter=fresh_address(),
                    memory=fresh_address(),
                    view=None,
                    accumulated=None,
                    tags=joined.tags | {"uncounted"},
                ),
            )
        )
        self.renamed[fresh.id] = theirs.id
        return fresh

    def _record(self, address: int, other: int) -> None:
        ours, theirs = self.left.heap.get(address), self.right.heap.get(other)
        if ours is theirs:
            return
        if ours is None or theirs is None:
            self._writes(address, ours or (), theirs or ())  # type: ignore[arg-type]
            return
        if type(ours) is not type(theirs):
            raise _DisagreementError
        joined = self._joined(address, ours, theirs)
        if joined is not ours:
            self.updates.append((address, joined))

    def _joined(self, address: int, ours: Record, theirs: Record) -> Record:
        match ours:
            case Tensor() if isinstance(theirs, Tensor):
                return self._tensor(ours, theirs)
            case Sequence() if isinstance(theirs, Sequence):
                return self._sequence(ours, theirs)
            case Mapping() if isinstance(theirs, Mapping):
                items = self._attrs(ours.items, theirs.items)
                return Mapping(items, ours.open or theirs.open, ours.rest, ours.factory)
            case Instance() if isinstance(theirs, Instance):
                if not is_same_class(ours.cls, theirs.cls) or not _behave_alike(ours.module, theirs.module):
                    raise _DisagreementError
                attrs = self._attrs(ours.attrs, theirs.attrs)
                inner = self._inner(ours.inner, theirs.inner)
                config = ours.config if ours.config == theirs.config else self._config(ours.config, theirs.config)
                return ours._replace(attrs=attrs, config=config, open=ours.open or theirs.open, inner=inner)
            case Class() if isinstance(theirs, Class):
                alike = ours.code is theirs.code
            case Suspended() | Pending():
                alike = ours == theirs
            case Tensor() | Sequence() | Mapping() | Instance() | Class():
                alike = False
            case tuple():
                assert isinstance(theirs, tuple)
                self._writes(address, ours, theirs)
                return ours
            case _:
                assert_never(ours)
        if not alike:
            raise _DisagreementError
        return ours

    def _config(self, ours: dict[str, Value], theirs: dict[str, Value]) -> dict[str, Value]:
        """Return the options that both were made with; one that only one was given, or another, may be anything."""
        both = ours.keys() & theirs.keys()
        return {one: self.value(ours[one], theirs[one]) if one in both else Unknown() for one in {**ours, **theirs}}

    def _writes(self, address: int, ours: tuple[object, ...], theirs: tuple[object, ...]) -> None:
        """Version counters may differ where nothing was saved that could notice."""
        if address in self.watched and list(map(place_of_write, ours)) != list(map(place_of_write, theirs)):
            raise _DisagreementError

    def _tensor(self, ours: Tensor, theirs: Tensor) -> Tensor:
        if is_data(ours) and is_data(theirs):
            self._address(ours.counter, theirs.counter)
            self._address(ours.memory, theirs.memory)
            self._view(ours.view, theirs.view)
            return self._data(ours, theirs)
        if (ours.grad, ours.parameter, ours.retains) != (theirs.grad, theirs.parameter, theirs.retains):
            raise _DisagreementError
        self._address(ours.counter, theirs.counter)
        self._address(ours.memory, theirs.memory)
        if is_cut(ours) and is_cut(theirs):
            ours = ours._replace(node=self._provenance(ours.node, theirs.node))
        else:
            self._node(ours.node, theirs.node)
        self._view(ours.view, theirs.view)
        accumulated = self.value(ours.accumulated, theirs.accumulated)
        joined = self._data(ours, theirs)
        if accumulated is ours.accumulated:
            return joined
        return joined._replace(accumulated=accumulated)

    def _data(self, ours: Tensor, theirs: Tensor) -> Tensor:
        if ours.shape == theirs.shape and ours.dtype == theirs.dtype and ours.tags == theirs.tags:
            return ours
        return ours._replace(
            shape=shapes.join(ours.shape, theirs.shape),
            dtype=dtypes.join(ours.dtype, theirs.dtype),
            tags=ours.tags & theirs.tags,
            inference=ours.inference if ours.inference is theirs.inference else None,
        )

    def _view(self, ours: View | None, theirs: View | None) -> None:
        if ours is None or theirs is None:
            if ours is not theirs:
                raise _DisagreementError
            return
        if ours.kind != theirs.kind:
            raise _DisagreementError
        self._refs(Ref(ours.base), Ref(theirs.base))

    def _address(self, ours: int, theirs: int) -> None:
        """Counters and memories: renamed like references, their writes compared where something watches."""
        if ours == theirs or self.renamed.get(ours) == theirs:
            return
        if ours in self.renamed or ours <= self.mark or theirs <= self.mark:
            raise _DisagreementError
        self.renamed[ours] = theirs
        self._writes(ours, self.left.writes(ours), self.right.writes(theirs))

    def _sequence(self, ours: Sequence, theirs: Sequence) -> Sequence:
        if ours.kind != theirs.kind:
            raise _DisagreementError
        if len(ours.items) != len(theirs.items):
            sides = (self.left, ours), (self.right, theirs)
            if not all(self._is_idle(state, item, inside=True) for state, one in sides for item in one.items):
                raise _DisagreementError
            return Sequence((Unknown(),), ours.kind, True)
        items = tuple(map(self.value, ours.items, theirs.items))
        if ours.open == theirs.open and all(map(is_, items, ours.items)):
            return ours
        return Sequence(items, ours.kind, ours.open or theirs.open)

    def _attrs(self, ours: dict[Any, Value], theirs: dict[Any, Value]) -> dict[Any, Value]:
        if ours is theirs:
            return ours
        joined: dict[Any, Value] = {}
        for name in (*ours, *(one for one in theirs if one not in ours)):
            if name in ours and name in theirs:
                joined[name] = self.value(ours[name], theirs[name])
            else:
                state, values = (self.left, ours) if name in ours else (self.right, theirs)
                self._only_one(state, values[name])
                joined[name] = Unknown()
        return joined

    def _inner(self, ours: Inner, theirs: Inner) -> Inner:
        if ours is theirs:
            return ours
        if ours is None or theirs is None or type(ours) is not type(theirs):
            raise _DisagreementError
        pairs = zip(ours, theirs, strict=True)
        return with_values(ours, (Unknown() if (a is None) is not (b is None) else self.value(a, b) for a, b in pairs))

    def _node(self, ours: Node, theirs: Node) -> None:
        stack = [(ours, theirs)]
        while stack:
            a, b = stack.pop()
            if a is b or (a.id, b.id) in self.nodes or not (a.live or b.live):
                continue
            if a.op != b.op or a.tracked is not b.tracked or a.cut != b.cut or len(a.edges) != len(b.edges):
                raise _DisagreementError
            self.nodes.add((a.id, b.id))
            if len(a.saved) != len(b.saved) or a.maybe_saved != b.maybe_saved:
                raise _DisagreementError
            if a.leaf is not None or b.leaf is not None:
                if a.leaf is None or b.leaf is None:
                    raise _DisagreementError
                self._refs(Ref(a.leaf), Ref(b.leaf))
            for x, y in zip(a.saved, b.saved, strict=True):
                self._saved(x, y)
            for edge, other in zip(a.edges, b.edges, strict=True):
                stack.append(self._edge(edge, other))

    def _edge(self, ours: Edge, theirs: Edge) -> tuple[Node, Node]:
        if ours.flows is not theirs.flows:
            raise _DisagreementError
        return ours.node, theirs.node

    def _saved(self, ours: Saved, theirs: Saved) -> None:
        if (ours.version, ours.label, ours.hooked) != (theirs.version, theirs.label, theirs.hooked):
            raise _DisagreementError
        self._address(ours.counter, theirs.counter)


def _truth(state: State, value: Value) -> bool | None:
    """Return whether a value is true, where that is plain, or has been asked on the way."""
    if isinstance(value, Unknown):
        if isinstance(known := state.facts.get(value), bool):
            return known
        inner = None if value.negated is None else _truth(state, value.negated)
        return None if inner is None else not inner
    return bool(value) if isinstance(value, _PLAIN) else None


def _behave_alike(ours: ModuleState, theirs: ModuleState) -> bool:
    """Return whether calls of a module do the same on both paths."""
    return ours.training is theirs.training and ours.hooks is theirs.hooks


def _origin(value: Value) -> Node | None:
    """Return the graph of an unknown value; a value that is neither unknown nor plain may not be forgotten."""
    if isinstance(value, Unknown):
        return value.origin if value.origin is not None and value.origin.live else None
    if not isinstance(value, _PLAIN):
        raise _DisagreementError
    return None
