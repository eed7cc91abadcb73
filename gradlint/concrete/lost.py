"""Values of which a loss is made, and that hang on no graph: what has cut them off."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.cuts import Cut
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import CUT, freed_by, leaves_of, node_of, nodes_below
from gradlint.concrete.terms import linear_nodes
from gradlint.concrete.watcher import Known, Watcher
from gradlint.concrete.written import own_frames
from gradlint.domain.fault.backward import GradientWithoutGraph
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.domain.fault.training_loop import BackwardMissing

_MEANT = ("detach", "no_grad", "data")
"""What is written to cut off a part of a loss on purpose, too."""
_NUMBERS = ("item", "numpy")
_COPIES = ("rewrap", *_NUMBERS)
"""What is no way to take a value from itself in a loss: who writes it wants its gradient."""
_OFTEN = 2
"""So many losses in a row must have a constant term, and none of that place another one."""


class Lost(Watcher):
    """Follows cuts to the losses that depend on them."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._losses: dict[tuple[int, int], tuple[Cut, dict[tuple[int, int], Place]]] = {}
        """The cuts that losses depend on, with the backwards of these losses."""
        self._carried: set[tuple[int, int]] = set()
        """The cuts whose values were made before the last step, such as states of a buffer."""
        self._terms: dict[tuple[int, int], tuple[Cut, Place, Place]] = {}
        self._constant: dict[tuple[int, int], int] = {}
        """How often the losses added up at a place had a term that is cut off; -1 where one had none."""
        self._group: set[tuple[int, int]] = set()
        self._is_stepping = False
        self._before: dict[int, set[tuple[int, int]]] = {}
        """The backwards before each run of steps, by optimizer."""
        self._unused: dict[int, tuple[Place, list[Leaf]] | None] = {}
        self._hacks: dict[tuple[int, int], tuple[Leaf, Cut, Place, Place]] = {}
        self._optimized: dict[int, list[Leaf]] = {}

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Note what an optimizer holds."""
        for leaf in leaves:
            leaf.held = True
        key, self._is_stepping = id(optimizer), True
        self._optimized[key] = leaves
        if not all(map(_is_unreached, leaves)):
            return
        self._before.setdefault(key, set()).update(self._group)
        if key not in self._unused:
            self._unused[key] = (place, leaves) if self._waits({id(leaf) for leaf in leaves}) else None

    def _waits(self, leaves: set[int]) -> bool:
        """Return whether the program has a loss of these leaves, of which no backward has run."""
        for frame in own_frames(sys._getframe(1)):
            for value in list(frame.f_locals.values()):
                last = node_of(value) if isinstance(value, torch.Tensor) and value.numel() == 1 else None
                ways = nodes_below([last])
                leads = any(id(self.training.leaf(one)) in leaves for one in leaves_of(ways))
                if leads and not any(freed_by(way.node) for way in ways):
                    return True
        return False

    def backpropagated(self, call: Call, place: Place) -> None:
        """Note the cuts that a loss depends on, and those of which a whole term of it is made."""
        if not call.fills:
            return
        for way in call.ways if self.training.cuts else ():
            for cut in () if way.label is None else way.label.cuts:
                self._losses.setdefault(cut.place.key, (cut, {}))[1][place.key] = place
                if cut.steps < self.training.steps:
                    self._carried.add(cut.place.key)
        self._group = {place.key} if self._is_stepping else self._group | {place.key}
        self._is_stepping = False
        self._add_up(call, place)
        if call.leaves and all(self.training.leaf(one).hack is not None for one in call.leaves):
            for leaf in map(self.training.leaf, call.leaves):
                assert leaf.hack is not None
                cut, made = leaf.hack
                self._hacks.setdefault(made.key, (leaf, cut, made, place))

    def _add_up(self, call: Call, place: Place) -> None:
        """Note the terms of a loss that are cut off; a value less itself without its graph is meant."""
        linear = linear_nodes(call.roots)
        both = set().union(*(node.metadata.get(CUT, ()) for node in linear)) if self.training.cuts else set()
        constant: dict[tuple[int, int], bool] = {}
        for label in linear.values():
            if label is None:
                continue
            key = label.place.key
            constant[key] = constant.get(key, False) or bool(label.cuts)
            for cut in label.cuts:
                if cut.kind in _COPIES or cut.place.key not in both:
                    self._terms.setdefault(cut.place.key, (cut, label.place, place))
        for key, is_constant in constant.items():
            before = self._constant.get(key, 0)
            self._constant[key] = before + 1 if is_constant and before >= 0 else -1

    def seen(self) -> Iterator[Seen]:
        """Yield the cuts before leaves that no backward has reached, and those that make a term a constant."""
        yield from self._hacked()
        for unused in self._unused.values():
            if unused is not None and all(map(_is_unreached, unused[1])):
                for leaf in unused[1]:
                    leaf.lost = True
                yield Seen(BackwardMissing, unused[0], {})
        idle = {key: leaves for key, leaves in self._optimized.items() if leaves and all(map(_is_unreached, leaves))}
        for cut, backwards in sorted(self._losses.values(), key=lambda pair: pair[0].place.key in self._carried):
            lost = [leaf for leaf in cut.leaves if _is_unreached(leaf) and self._counts(leaf) and not leaf.lost]
            own = [leaves for key, leaves in idle.items() if self._before.get(key, set()) & backwards.keys()]
            whole = any(leaf in leaves for leaves in own for leaf in lost)
            if not lost or (cut.kind in _MEANT and not whole):
                continue
            for leaf in lost:
                leaf.lost = True
            backward = next(iter(backwards.values()))
            yield Seen(LostLeaf, cut.place, _fields(cut, lost[0], backward) | {"idle": whole})
        for cut, term, backward in self._terms.values():
            if cut.kind == "grad":
                yield Seen(GradientWithoutGraph, cut.place, {"backward": backward, "term": term})
            elif cut.kind in ("nondiff", "integer", "rewrap") and cut.leaves:
                yield Seen(LostLeaf, cut.place, _fields(cut, cut.leaves[0], backward) | {"term": True})
            elif cut.kind in (*_MEANT, *_NUMBERS) and self._constant[term.key] >= _OFTEN:
                yield Seen(LostLeaf, cut.place, _fields(cut, None, backward) | {"term": True})

    def _counts(self, leaf: Leaf) -> bool:
        """Return whether a leaf should get a gradient: an optimizer holds it, or none steps at all."""
        return leaf.held or (not self.training.steps and bool(leaf.name))

    def _hacked(self) -> Iterator[Seen]:
        for leaf, cut, made, backward in self._hacks.values():
            if leaf.read or leaf.held:
                continue
            for one in cut.leaves:
                one.lost = True
            fields = _fields(cut, None, backward) | {"kind": "hack", "cut": cut.place, "parameter": True}
            yield Seen(LostLeaf, made, fields)


def _is_unreached(leaf: Leaf) -> bool:
    """Return whether no backward has filled the gradient of a leaf, and the program has not either."""
    return not leaf.backwards and leaf.untouched


def _fields(cut: Cut, leaf: Leaf | None, backward: Place) -> dict[str, object]:
    made = None if leaf is None else leaf.made
    parameter = leaf is None or bool(leaf.name)
    return {
        "kind": cut.kind, "op": cut.op, "leaf": made, "backward": backward, "raises": False, "parameter": parameter,
    }  # fmt: skip
