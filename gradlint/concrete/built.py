"""Modules with random weights that each call of a network makes anew."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import nn

from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.watcher import Known, Watcher
from gradlint.domain.fault.modules import ModuleBuiltInForward

_CALLS = 2
"""In so many calls of a network a line must have made a module that is not part of it."""


@dataclass
class Line:
    """A line that makes modules while a network is called: the last one, in which call, and where that was called.

    `calls` are those in which one was called as it was drawn. `kept`: one was still alive in the next call.
    """

    place: Place
    module: weakref.ref[nn.Module]
    call: int
    called: Place | None = None
    kept: bool = False
    calls: set[int] = field(default_factory=set)


class Built(Watcher):
    """Looks at what modules make in `forward`, and call there."""

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self._lines: dict[tuple[int, int], Line] = {}
        self._fresh: dict[int, tuple[weakref.ref[nn.Module], Line, Leaf, int]] = {}
        self._calls = 0

    def registered(self, module: nn.Module, parameter: torch.Tensor, place: Place | None) -> None:
        """Note a module that gets a weight while another one is called."""
        known = self._fresh.get(id(module))
        if place is None or not self.inside or (known is not None and known[0]() is module):
            return
        line = self._lines.get(place.key)
        if line is None:
            line = self._lines[place.key] = Line(place, weakref.ref(module), self._calls)
        line.kept = line.kept or (line.call != self._calls and line.module() is not None)
        line.module, line.call = weakref.ref(module), self._calls
        self.inner.add(id(module))
        self._fresh[id(module)] = line.module, line, self.training.leaf(parameter), parameter.data_ptr()

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Note the call of such a module, with the weights that it was made with."""
        if len(self.inside) == 1:
            self._calls += 1
            self._fresh.clear()
            return
        reference, line, leaf, memory = self._fresh.pop(id(module), (None, None, None, 0))
        weight = None if leaf is None else leaf.tensor()
        if reference is None or line is None or leaf is None or weight is None or reference() is not module:
            return
        is_drawn = (
            leaf.random and not leaf.constant and leaf.loaded < 0 and not leaf.read and weight.data_ptr() == memory
        )
        if is_drawn and self._calls not in line.calls:
            line.calls.add(self._calls)
            line.called = place

    def seen(self) -> Iterator[Seen]:
        """Yield the lines that have made a new module in several calls, of which none was kept."""
        for line in self._lines.values():
            if len(line.calls) >= _CALLS and not line.kept and line.called is not None:
                yield Seen(ModuleBuiltInForward, line.place, {"called": line.called})
