"""Graphs that stay alive from iteration to iteration, and who holds them.

A graph lives as long as the object in the metadata of its last node. Where those of five iterations are alive, the
variables of the program's own frames are searched for what holds them: nothing is kept alive for that. They are also
searched after the first iterations of a sample, for values of which nodes of several iterations are left, be they of a
loss or not.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections import deque
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from torch import nn

from gradlint.concrete.calls import Call, tensors_in
from gradlint.concrete.holders import Holder, held_at_the_end, holder_of, unfinished_holder_of
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import LIFE, Fate, Life, freed_by, is_freed, label_of, sequence_number
from gradlint.concrete.watcher import Known, Watcher
from gradlint.domain.fault.backward import GradientCycle, GraphRetained
from gradlint.domain.fault.training_loop import EvalKeepsGraph, GraphAccumulates, StateNotDetached

_MANY = 5
"""The graphs of so many iterations before this one are alive, of which no backward has run yet."""
_SPENT = 3
"""The same of graphs that nothing can use any more."""
_CHAIN = 4
_SEEN = 200
_RETAINED = "gradlint.retained"
_CARRIED = "gradlint.carried"
_SEARCHED = (4, 5, 7, 10)
"""The iterations of a sample after which the frames are searched: a sum over an epoch may be short."""
_UNWATCHED = 48
"""So many iterations are over before the first search between samples."""
_ENDS = 100_000


class Kept(NamedTuple):
    """Graphs of one place that were alive together, and who held them, in a `state` that is carried on or otherwise."""

    holder: Holder
    fates: tuple[Fate, ...]
    lives: tuple[weakref.ref[Life], ...]
    state: bool


class Growth(Watcher):
    """Counts the graphs of each place that are alive, and the nodes that each backward runs through."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._lives: dict[Hashable, deque[weakref.ref[Life]]] = {}
        self._kept: dict[tuple[bool, int, tuple[int, int]], Kept] = {}
        self._sought: dict[Hashable, int] = {}
        self._ways: dict[tuple[int, int], tuple[deque[int], deque[int]]] = {}
        self._states: dict[tuple[int, int], Seen] = {}
        self._retained: dict[tuple[int, int], tuple[Place, int]] = {}
        self._used: set[tuple[int, int]] = set()
        self._cycles: dict[tuple[int, int], tuple[Place, list[Any], int]] = {}
        self._ends: list[int] = []
        """The number of the next node at the ends of iterations, between samples of some."""
        self._iterations = 0
        self._due = _UNWATCHED
        self._carried: dict[tuple[int, int], tuple[Holder, bool]] = {}
        self._grown: dict[tuple[int, int], tuple[Holder, bool]] = {}
        """What was found to hold graphs between samples: which nothing can use, or at two searches in a row."""
        self._suspects: set[tuple[int, int]] = set()

    def paused(self) -> None:
        """Forget graphs that a backward may still use: nobody would see it."""
        self._lives.clear()
        self._ways.clear()
        self._iterations = 0
        self._carried = {key: pair for key, pair in self._carried.items() if pair[1]}
        for key, kept in list(self._kept.items()):
            if any(not fate.spent and life() is not None for fate, life in zip(kept.fates, kept.lives, strict=True)):
                del self._kept[key]
                self._sought.pop(key, None)

    def module_left(self, module: nn.Module, result: Any, place: Place) -> None:
        """Note the graph of what a network has computed. The layers that a loop calls are one each."""
        ends: list[Any] = [one.grad_fn for one in tensors_in((result,)) if one.grad_fn is not None]
        if ends:
            self._live(ends[0], False, place, id(module))
            for one in ends[1:_CHAIN]:
                one.metadata.setdefault(LIFE, ends[0].metadata[LIFE])

    def backward_begins(self, call: Call, place: Place) -> None:
        """Note the graph of a loss, and what it has in common with those before."""
        if self._retained:
            for way in call.ways:
                mark = way.node.metadata.get(_RETAINED)
                if mark is not None:
                    self._used.add(mark)
        for way in call.ways if self._carried else ():
            self._carried.pop(way.node.metadata.get(_CARRIED), None)  # It was kept for this backward.
        if not call.fills:
            return
        last = next((one.grad_fn for one in call.roots if one.grad_fn is not None), None)
        if last is not None:
            self._live(last, True, place)
            self._state(call, last, place)

    def backpropagated(self, call: Call, place: Place) -> None:
        """Note a graph that is retained, or gradients with a graph of their own."""
        if call.creates and call.fills:
            leaves = [self.training.leaf(one) for one in call.leaves]
            self._cycles[place.key] = place, leaves, self.training.number
        elif call.retains and call.fills:
            for way in call.ways:
                if type(way.node).__name__ != "AccumulateGrad":
                    way.node.metadata.setdefault(_RETAINED, place.key)
            self._retained[place.key] = place, self._retained.get(place.key, (place, 0))[1] + 1

    def iteration_ended(self) -> None:
        """Search for what holds nodes of several iterations that are over, the last one left out."""
        self._iterations += 1
        if self._iterations in _SEARCHED and self._ends:
            holder = holder_of(self._iteration, below=True)
            if holder is not None and holder.place.key not in self._carried:
                holder.node.metadata[_CARRIED] = holder.place.key
                self._carried[holder.place.key] = holder._replace(node=None), _is_spent(holder.node)
        self._count()

    def iteration_passed(self, number: int) -> None:
        """Search now and then, ever more rarely, for what holds nodes of iterations that nobody watches."""
        if number >= self._due:
            self._due *= 4
            holder = holder_of(self._iteration, shallow=True)
            suspects, self._suspects = self._suspects, set() if holder is None else {holder.place.key}
            if holder is not None and (_is_spent(holder.node) or holder.place.key in suspects):
                self._grows(holder)
        self._count()

    def program_ended(self) -> None:
        """Search what is left of the program for what holds nodes of several iterations: nothing uses them any more."""
        self._count()
        holder = held_at_the_end(self._iteration)
        if holder is not None:
            self._grows(holder)

    def _grows(self, holder: Holder) -> None:
        self._grown.setdefault(holder.place.key, (holder._replace(node=None), _is_spent(holder.node)))

    def _count(self) -> None:
        """Note that an iteration is over."""
        self._ends.append(sequence_number())
        if len(self._ends) > _ENDS:
            del self._ends[::2]

    def _iteration(self, node: Any) -> int | None:
        """Return in which iteration a node was made; None for one of this iteration, or where that is not known.

        Torch numbers the nodes of each thread apart. What an engine makes for an accelerator is of another thread.
        """
        if label_of(node) is None and not all(one.device.type == "cpu" for one in getattr(node, "_input_metadata", ())):
            return None
        found = bisect_right(self._ends, node._sequence_nr())
        return found if found < len(self._ends) else None

    def _live(self, node: Any, spent: bool, place: Place, network: int = 0) -> None:
        """Note that a graph is alive, and look for who holds those before it, twice at most."""
        key = spent, network, place.key
        lives = self._lives.setdefault(key, deque(maxlen=_MANY + 1))
        alive = [life for one in lives if (life := one()) is not None]
        chain = [node]
        while len(chain) < _CHAIN:  # What scales a loss dies with it, and the loss itself may be kept.
            below = [one for one, _ in chain[-1].next_functions if one is not None]
            if len(below) != 1 or type(below[0]).__name__ == "AccumulateGrad":
                break
            chain.append(below[0])
        life = next((one.metadata[LIFE] for one in chain if LIFE in one.metadata), None) or Life()
        for one in chain:
            one.metadata.setdefault(LIFE, life)
        lives.append(weakref.ref(life))
        alive = [one for one in alive if one is not life]
        if len(alive) < (_SPENT if spent else _MANY) or key in self._kept or self._sought.get(key, 0) >= 2:
            return
        if spent is not all(one.fate.spent for one in alive):
            return
        self._sought[key] = self._sought.get(key, 0) + 1
        wanted = {id(one) for one in alive}
        whose = lambda node: id(life) if id(life := node.metadata.get(LIFE)) in wanted else None  # noqa: E731
        holder = holder_of(whose) or (unfinished_holder_of(whose) if spent else None)
        is_state = holder is None and not spent
        if is_state and (holder := holder_of(whose, carried=True)) is not None:
            holder = holder._replace(place=place)
        if holder is not None:
            fates, kept = tuple(one.fate for one in alive), tuple(map(weakref.ref, alive))
            self._kept[key] = Kept(holder._replace(node=None), fates, kept, is_state)

    def _state(self, call: Call, last: Any, place: Place) -> None:
        """See whether each backward runs through more than the last, down to what earlier iterations have computed."""
        label = label_of(last)
        if label is None or place.key in self._states:
            return
        sizes, ends = self._ways.setdefault(place.key, (deque(maxlen=_MANY), deque(maxlen=2)))
        sizes.append(len(call.ways))
        before, end = (ends[0], ends[-1]) if len(ends) == 2 else (0, 0)
        ends.append(label.number)
        grows = len(sizes) == _MANY and all(one < other for one, other in zip(sizes, list(sizes)[1:], strict=False))
        if not grows or not before or not any(way.label and way.label.number <= before for way in call.ways):
            return
        for way in sorted(call.ways, key=lambda way: way.label.number if way.label else 0):
            below = [label_of(node) for node, _ in way.node.next_functions if node is not None]
            former = next((one for one in below if one is not None and one.number <= end), None)
            if way.label is not None and way.label.number > end and former is not None:
                self._states[place.key] = Seen(StateNotDetached, way.label.place, {"former": former.place})
                return

    def seen(self) -> Iterator[Seen]:
        """Yield the graphs that were kept, and those that were retained for nothing."""
        yield from self._states.values()
        summed = set()
        for (spent, *_), kept in sorted(self._kept.items(), key=lambda pair: not pair[0][0]):
            holder = kept.holder
            if holder.place.key in summed or (not spent and any(one.spent for one in kept.fates)):
                continue
            summed.add(holder.place.key)
            fields: dict[str, object] = {"term": None, "listed": holder.listed, "nested": False}
            if spent:
                yield Seen(GraphAccumulates, holder.place, fields | {"spent": True, "path": holder.path})
            else:
                yield Seen(EvalKeepsGraph, holder.place, fields | {"state": kept.state})
        for holder, spent in (self._carried | self._grown).values():
            if holder.place.key not in summed:
                fields = {"term": None, "listed": holder.listed, "nested": False, "spent": spent, "path": holder.path}
                yield Seen(GraphAccumulates, holder.place, fields)
        for key, (place, times) in self._retained.items():
            if times >= 3 and key not in self._used:
                yield Seen(GraphRetained, place, {})
        for place, leaves, number in self._cycles.values():
            if any(leaf.filled is not None or leaf.used is not None for leaf in leaves):
                yield Seen(GradientCycle, place, {"used": self.training.number > number})


def _is_spent(last: Any) -> bool:
    """Return whether a backward has freed what one of the next nodes has saved: it was seen, or torch says so."""
    stack, known = [last], set[Any]()
    while stack and len(known) < _SEEN:
        node = stack.pop()
        if freed_by(node) is not None or is_freed(node):
            return True
        if node not in known:
            known.add(node)
            stack += [one for one, _ in node.next_functions if one is not None]
    return False
