"""What places older than a loop hold: the roots of graphs, and how a root was built up out of former ones.

A place is a variable, an attribute, an item of a dict, or a whole list. A root is a node of the graph, or a value that
is not known and that arithmetic has made of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Mapping as Mapped
from typing import NamedTuple, TypeAlias

from gradlint.domain.graph import Node
from gradlint.domain.state import State, rebound
from gradlint.domain.value import (
    Bound,
    Class,
    Context,
    Instance,
    Mapping,
    Partial,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
)

Root: TypeAlias = "Node | Unknown"
Place: TypeAlias = "tuple[object, ...]"

_GATHERING = frozenset(
    {
        *("add", "sub", "mul", "div", "true_divide", "add_", "sub_", "mul_", "div_", "lerp", "lerp_", "neg"),
        *("sum", "mean", "cat", "concat", "concatenate", "stack", "hstack", "vstack", "maximum", "minimum"),
        *("max", "min", "where", "clone", "view", "reshape", "squeeze", "unsqueeze", "flatten", "to"),
        *("select", "index", "index assignment", "copy_", "+", "-", "*", "/"),
    }
)
"""Operations that put results together without computing a further step from them."""

_ARITHMETIC = frozenset({"+", "-", "*", "/"})

_LARGE = 200
"""How many items a bounded container may hold before its bound is none to speak of."""

MOST = 400
"""How many parts of one root are looked at."""


MOST_OBJECTS = 100_000
"""How many objects are looked at for the graphs that dropped paths hold; behind that, the file counts as not read."""


class Held(NamedTuple):
    """A root in a place, with the value that has it: what a list was given is known by that."""

    root: Root
    value: Value


def held_by(state: State, before: State) -> dict[Place, tuple[Held, ...]]:
    """The roots in the places older than the loop that it has changed."""
    found: dict[Place, tuple[Held, ...]] = {}
    for frame in state.dirty_frames:
        old = before.frames.get(frame)
        if old is not None and frame in state.frames:
            names = state.frames[frame]
            _changed(found, state, ("name", frame), names, old)
    for address in state.dirty:
        former = before.heap.get(address)
        if former is not None and state.heap.get(address) is not former:
            _in_record(found, state, address, state.heap.get(address), former)
    return found


def _changed(
    found: dict[Place, tuple[Held, ...]],
    state: State,
    where: Place,
    now: dict[str | int, Value],
    old: dict[str | int, Value],
) -> None:
    for name in rebound(now, old):
        if isinstance(name, str):
            _hold(found, state, (*where, name), (now[name],))


def _in_record(
    found: dict[Place, tuple[Held, ...]], state: State, address: int, record: object, former: object
) -> None:
    if isinstance(record, Sequence) and isinstance(former, Sequence):
        if record.most is None or record.most >= _LARGE:
            _hold(found, state, ("items", address), record.items)
    elif isinstance(record, Mapping) and isinstance(former, Mapping):
        for key, value in record.items.items():
            _hold(found, state, ("key", address, key), (value,))
        _hold(found, state, ("items", address), record.items.values())
    elif isinstance(record, Instance) and isinstance(former, Instance):
        for name, value in record.attrs.items():
            if name in former.attrs and value is not former.attrs[name]:
                _hold(found, state, ("attr", address, name), (value,))
    elif isinstance(record, Tensor) and isinstance(former, Tensor) and record.node is not former.node:
        _hold(found, state, ("tensor", address), (Ref(address),))


def _hold(found: dict[Place, tuple[Held, ...]], state: State, place: Place, values: Iterable[Value]) -> None:
    held = [Held(root, value) for value in values for root in _roots(state, value)]
    if held:
        found[place] = tuple(held)


def _roots(state: State, value: Value, depth: int = 2) -> Iterator[Root]:
    """The roots of one value; of a tuple or list, of each of its items."""
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Tensor):
            if record.node.tracked is not False:
                yield record.node
        elif isinstance(record, Sequence) and depth:
            for item in record.items:
                yield from _roots(state, item, depth - 1)
        elif isinstance(record, Mapping) and depth:
            for item in record.items.values():
                yield from _roots(state, item, depth - 1)
    elif isinstance(value, Unknown):
        root = _symbol(state, value)
        if root is not None:
            yield root
    elif type(value) is tuple and depth:
        for item in value:
            yield from _roots(state, item, depth - 1)


def _symbol(state: State, value: Unknown) -> Root | None:
    shown = state.facts.get(("tensor", value))
    record = state.heap.get(shown.id) if isinstance(shown, Ref) else None
    if isinstance(record, Tensor):
        return record.node if record.node.tracked is not False else None
    if value.origin is not None:
        return value.origin if value.origin.tracked is not False else None
    return value if value.key is not None and value.key[0] in _ARITHMETIC else None


class Parts(NamedTuple):
    """What a root gathers: all the roots on the way, and those at the end of it, which are no sums themselves.

    The ends are in the order in which they are found: the order of a set would differ from run to run.
    """

    all: frozenset[Root]
    ends: tuple[Root, ...]


def parts_of(state: State, root: Root) -> Parts:
    """Follow a root back through sums, lists and their like."""
    every: set[Root] = set()
    ends: list[Root] = []
    stack: list[Root] = [root]
    while stack and len(every) < MOST:
        one = stack.pop()
        if one in every:
            continue
        every.add(one)
        behind = _behind(state, one)
        if behind is None:
            ends.append(one)
        else:
            stack.extend(behind)
    return Parts(frozenset(every), tuple(ends))


def _behind(state: State, root: Root) -> list[Root] | None:
    """The roots that a sum is made of; None for what is no sum."""
    if isinstance(root, Node):
        if root.op.removeprefix("Tensor.").removeprefix("nn.functional.") not in _GATHERING:
            return None
        flowing = [edge.node for edge in root.edges if edge.flows is not False and edge.cut != "zero"]
        return [node for node in flowing if node.tracked is not False]
    assert root.key is not None
    if root.key[0] not in _ARITHMETIC:
        return None
    symbols = [_symbol_part(state, part) for part in root.key[1:]]
    return [part for part in symbols if part is not None]


def _symbol_part(state: State, part: object) -> Root | None:
    if isinstance(part, Unknown):
        return _symbol(state, part)
    if isinstance(part, Ref):
        return next(_roots(state, part, 0), None)
    return None


def reaches(starts: Iterable[Root], target: Root) -> bool:
    """Whether a gradient from one of the starts may flow to the target."""
    if not isinstance(target, Node):
        return False
    seen: set[int] = set()
    stack = [start for start in starts if isinstance(start, Node)]
    while stack:
        node = stack.pop()
        if node is target:
            return True
        if node.id in seen or node.id < target.id:
            continue  # Edges lead to what is older.
        seen.add(node.id)
        stack.extend(edge.node for edge in node.edges if edge.flows is not False)
    return False


def is_held(state: State, address: int) -> bool:
    """Whether an object can still be got at: a list whose name has been given to a new one keeps nothing alive."""
    seen: set[int] = set()
    # Temporaries are numbers, and hold what an expression once has met.
    stack = [value for names in state.frames.values() for name, value in names.items() if isinstance(name, str)]
    while stack:
        value = stack.pop()
        if isinstance(value, Ref):
            if value.id == address:
                return True
            if value.id in seen:
                continue
            seen.add(value.id)
            record = state.heap.get(value.id)
            if isinstance(record, Sequence):
                stack.extend(record.items)
            elif isinstance(record, (Mapping, Instance, Class)):
                held = record.items if isinstance(record, Mapping) else record.attrs
                stack.extend(held.values())
        elif type(value) is tuple or isinstance(value, (Bound, Partial, Context)):
            stack.extend(value)
    return False


def graphs_in(state: State, values: Iterable[Value]) -> Iterator[Node]:
    """All graphs in values, in what they hold, and in the modules' globals."""
    return Search().graphs(state, values)


class Search:
    """Looks for the graphs in values, and remembers of each object which of its attributes may hold any.

    `left` is how many objects it may still look at, over all the states that are asked about.
    """

    def __init__(self, left: int = MOST_OBJECTS) -> None:
        self.left = left
        self._carriers: dict[int, tuple[Instance, tuple[Value, ...]]] = {}

    def graphs(self, state: State, values: Iterable[Value]) -> Iterator[Node]:
        """All graphs in values, in what they hold, and in the module's globals."""
        seen: set[int] = set()
        heap = state.heap
        # A frame that nothing encloses is a module's.
        outermost = [names.values() for names in state.frames.values() if "<outer>" not in names]
        stack = [value for group in (values, *outermost) for value in group if type(value) in _CARRYING]
        while stack and self.left > 0:
            self.left -= 1
            value = stack.pop()
            if isinstance(value, Unknown):
                if value.origin is not None:
                    yield value.origin
            elif type(value) is tuple:
                stack.extend(value)
            elif isinstance(value, Ref):
                if value.id in seen:
                    continue
                seen.add(value.id)
                record = heap.get(value.id)
                if isinstance(record, Instance):
                    stack.extend(self._of(record, heap))
                elif isinstance(record, Tensor):
                    yield record.node
                elif isinstance(record, Sequence):
                    stack.extend(record.items)
                elif isinstance(record, Mapping):
                    stack.extend(record.items.values())

    def _of(self, record: Instance, heap: Mapped[int, object]) -> tuple[Value, ...]:
        """The attributes that may hold a graph: a parameter is none, whatever becomes of it."""
        known = self._carriers.get(id(record))
        if known is None:
            known = record, tuple(value for value in record.attrs.values() if _may_carry(value, heap))
            self._carriers[id(record)] = known
        return known[1]


_CARRYING = frozenset({tuple, Unknown, Ref})


def _may_carry(value: Value, heap: Mapped[int, object]) -> bool:
    if isinstance(value, Ref):
        record = heap.get(value.id)
        return not (isinstance(record, Tensor) and record.parameter)
    return type(value) is tuple or (isinstance(value, Unknown) and value.origin is not None)
