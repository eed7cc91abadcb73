"""How many tensors the variables of a program hold after an iteration, and which of them hold more each time.

Parameters, buffers and the state of optimizers are left out. Nothing is kept alive, and no code of the program runs.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from gradlint.concrete.calls import tensors_in
from gradlint.concrete.holders import PLAIN, grown, is_ours, items_of
from gradlint.concrete.places import Spot
from gradlint.concrete.watcher import Known, Watcher
from gradlint.concrete.written import own_frames

_FIRST, _TIMES = 3, 4
"""Tensors are counted after so many iterations, so many times as many, and so on."""
_GROWS = 3
"""So many counts in a row must each be greater than the one before."""
_DEPTH = 3
_MOST = 10_000
_PLAIN = (*PLAIN, nn.Module)


class Alive(Watcher):
    """Counts tensors in the variables of the program's frames, between samples as well."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.points: list[tuple[int, int]] = []
        """After how many iterations there were how many tensors."""
        self._done = 0
        self._before: Counter[str] = Counter()
        self._most: tuple[str, str, type | None] | None = None

    def iteration_ended(self) -> None:
        """Count after an iteration that was watched, now and then."""
        self.iteration_passed(self._done + 1)

    def iteration_passed(self, number: int) -> None:
        """Count after an iteration, now and then."""
        self._done = number
        if number >= _FIRST * _TIMES ** len(self.points):
            found: Counter[str] = Counter()
            origins: dict[str, tuple[str, type | None]] = {}
            known: set[int] = set()
            for frame in own_frames(sys._getframe(1)):
                search = _Count(frame.f_code.co_filename, found, origins, known)
                for name, value in list(frame.f_locals.items()):
                    if not name.startswith("__"):
                        search.count(name, value, _DEPTH)
            self.points.append((self._done, found.total()))
            more = found - self._before
            self._before = found
            if more:
                path = max(more, key=lambda one: more[one])
                self._most = path, *origins[path]

    @property
    def growing(self) -> tuple[str, Spot | None] | None:
        """Return what holds most of those that came last, and where it grows, if there are ever more."""
        counts = [count for _, count in self.points[-_GROWS:]]
        is_growing = len(counts) == _GROWS and all(one < other for one, other in pairwise(counts))
        return (self._most[0], grown(*self._most)) if is_growing and self._most is not None else None


class _Count:
    """A count in the variables of a frame of a file: by path, with the file and the class that has the container."""

    def __init__(
        self, filename: str, found: Counter[str], origins: dict[str, tuple[str, type | None]], known: set[int]
    ) -> None:
        self._filename, self._found, self._origins, self._known = filename, found, origins, known

    def count(self, path: str, value: Any, depth: int, owner: type | None = None) -> None:
        """Count the tensors at and below a value."""
        if id(value) in self._known or isinstance(value, _PLAIN) or is_ours(value):
            return
        self._known.add(id(value))
        if isinstance(value, (torch.Tensor, list, tuple, dict, deque)):
            count = sum(1 for _ in zip(range(_MOST), tensors_in((_plain(value),)), strict=False))
            if count:
                self._found[path] += count
                self._origins[path] = self._filename, owner
        if depth and not isinstance(value, torch.Tensor):
            for name, one in items_of(value):
                if not isinstance(one, (torch.Tensor, tuple)):
                    inner = owner if isinstance(value, (list, tuple, dict, deque)) else type(value)
                    self.count(path + name, one, depth - 1, inner)


def _plain(value: Any) -> Any:
    """Return what has the items of a container without those that are counted by themselves."""
    if isinstance(value, torch.Tensor):
        return value
    items = list(value.values()) if isinstance(value, dict) else list(value)
    return [one for one in items if isinstance(one, (torch.Tensor, tuple))]
