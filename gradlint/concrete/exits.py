"""Where tensors and numbers have left the graph, for as long as they live."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from gradlint.concrete.calls import tensors_in
from gradlint.concrete.cuts import Cut, cut_of
from gradlint.concrete.operations import name_of, requires_grad
from gradlint.concrete.places import Place, Places
from gradlint.concrete.tape import CUT, leaves_of, nodes_below
from gradlint.concrete.training import Training

Tensor = torch.Tensor
_ARRAYS: set[Any] = {Tensor.numpy, Tensor.__array__}
_EXITS: set[Any] = {Tensor.item, Tensor.__float__, Tensor.__int__, Tensor.tolist, *_ARRAYS}
_NUMBERS = 64
"""So many numbers that were tensors are remembered."""
_DISTRIBUTIONS = torch.distributions.__path__[0]


class Exits:
    """The cuts of tensors and of numbers. None of the tensors is kept alive."""

    def __init__(self, places: Places, training: Training) -> None:
        self._places, self._training = places, training
        self._cuts: dict[int, tuple[weakref.ref[Tensor], Cut]] = {}
        self._numbers: OrderedDict[int, tuple[float, Cut]] = OrderedDict()
        self._times: dict[tuple[int, int], int] = {}
        self._off: Place | None = None
        self._draws = False

    def clear(self) -> None:
        """Know of no cut: the mode may have been switched unseen, and tensors written."""
        self._cuts.clear()
        self._numbers.clear()
        self._off, self._draws = None, False

    def grad_mode(self, on: bool, caller: Any) -> None:
        """Note where the grad mode is switched off."""
        self._off = None if on else self._places.of(caller)
        self._draws = not on and _is_below(caller, _DISTRIBUTIONS)

    def of(self, tensor: Tensor) -> Cut | None:
        """Return where a tensor has lost its graph."""
        found = self._cuts.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def note(self, func: Any, args: Any, result: Any, caller: Any) -> Cut | None:
        """Note where a tensor without a graph was computed from one that has some; `func` is None for `.data`.

        Return the cut of a value that becomes a number or an array: nobody sees what is made of that.
        """
        if not isinstance(result, Tensor):
            return self._exit(func, args[0], result, caller) if func in _EXITS and _is_given(args) else None
        if requires_grad(result):
            return None
        given = list(tensors_in(args))
        cuts = [cut for one in given if (cut := self.of(one)) is not None] if self._cuts else ()
        cut = max(cuts, key=lambda one: one.steps, default=None)  # What is carried from before is less to blame.
        if not given and self._numbers:
            cut = next(self._of_numbers(args), None)
        if cut is None:
            source = next((one for one in given if requires_grad(one)), None)
            place = self._places.of(caller) if source is not None else None
            if place is None or source is None:
                return None
            kind, name = (None, name_of(func)) if func is not None else ("data", "data")
            cut = cut_of(kind, name, source, result, place)
            if cut is not None and cut.kind == "no_grad" and self._off is not None:
                cut = cut._replace(place=self._off)
                if self._draws:
                    cut = cut._replace(kind="sample", op="sample")
            if cut is not None:
                cut = self._completed(cut, source)
        if cut is not None and not any(one is result for one in given):
            self.keep(result, cut)
        return None

    def rewrap(self, given: list[Tensor], result: Tensor, place: Place) -> None:
        """Note that a leaf was made of the value of a tensor that has a graph."""
        source = next((one for one in given if requires_grad(one)), None)
        if source is not None:
            self.keep(result, self._completed(Cut("rewrap", "tensor", place), source))

    def keep(self, result: Tensor, cut: Cut) -> None:
        """Remember where a tensor has lost its graph, for as long as it lives."""
        key, cuts = id(result), self._cuts
        cuts[key] = weakref.ref(result, lambda _: cuts.pop(key, None)), cut

    def among(self, given: list[Tensor], args: Sequence[Any]) -> tuple[Cut, ...]:
        """Return where values that an operation was given have left the graph, numbers among them."""
        found: list[Cut] = []
        if self._cuts:
            found = [cut for one in given if (cut := self.of(one)) is not None and not requires_grad(one)]
        found += self._of_numbers(args) if self._numbers else ()
        self._training.cuts += len(found)
        return tuple(found)

    def _of_numbers(self, args: Iterable[Any]) -> Iterator[Cut]:
        """Yield where numbers among arguments, and in lists among them, have left the graph."""
        for one in args:
            if type(one) is float and (known := self._numbers.get(id(one))) is not None:
                yield known[1]
            elif type(one) is list and one and type(one[0]) is float:
                yield from self._of_numbers(one)

    def _completed(self, cut: Cut, source: Tensor) -> Cut:
        """Add the leaves before a cut, of the first two at its place: nothing here may cost much."""
        node: Any = source.grad_fn
        for one in () if node is None else (node, *(below for below, _ in node.next_functions)):
            if one is not None:
                one.metadata.setdefault(CUT, set()).add(cut.place.key)
        times = self._times[cut.place.key] = self._times.get(cut.place.key, 0) + 1
        if times > 2:
            return cut._replace(steps=self._training.steps)
        found = [source] if source.grad_fn is None else leaves_of(nodes_below([source.grad_fn]))
        return cut._replace(steps=self._training.steps, leaves=tuple(self._training.leaf(one) for one in found))

    def _exit(self, func: Any, source: Tensor, result: Any, caller: Any) -> Cut | None:
        place = self._places.of(caller)
        before = self.of(source)
        if place is None or not (before or requires_grad(source)):
            return None
        name = name_of(func).strip("_")
        kind = "numpy" if func in _ARRAYS else "item"
        cut = before or self._completed(Cut(kind, name, place), source)
        cut = cut._replace(kind=kind, op=name, place=place)
        for one in (result,) if type(result) is float else result[:_NUMBERS] if type(result) is list else ():
            if type(one) is float:
                self._numbers[id(one)] = one, cut
                if len(self._numbers) > _NUMBERS:
                    self._numbers.popitem(last=False)
        return cut


def _is_given(args: Any) -> bool:
    return bool(args) and isinstance(args[0], Tensor)


def _is_below(frame: Any, folder: str, depth: int = 4) -> bool:
    """Return whether one of the next frames stands in a folder."""
    for _ in range(depth):
        if frame is None:
            return False
        if frame.f_code.co_filename.startswith(folder):
            return True
        frame = frame.f_back
    return False
