"""What a part of the concrete machine hears of the program, beside the tape and the training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn

from gradlint.concrete.calls import Call
from gradlint.concrete.cuts import Cut
from gradlint.concrete.places import Place
from gradlint.concrete.seen import Seen
from gradlint.concrete.training import Leaf, Training

Tensor = torch.Tensor


class Operation(NamedTuple):
    """A call of torch that is over: the tensors it was `given`, those it has `made`, and which of these have a graph.

    `caller` is the frame that has called it, which may be one of torch's own.
    """

    func: Any
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    given: list[Tensor]
    made: list[Tensor]
    tracked: list[Tensor]
    place: Place
    caller: FrameType


class Watcher:
    """Hears what happens, once it has happened. What a class does not override costs nothing.

    No watcher keeps a tensor, a node or a module alive, or writes to any.
    """

    def __init__(self, training: Training, cut: Callable[[Tensor], Cut | None]) -> None:
        self.training, self.cut = training, cut

    def operated(self, it: Operation) -> None:
        """Hear of an operation."""

    def backward_begins(self, call: Call, place: Place) -> None:
        """Hear of a backward, before torch runs it."""

    def backpropagated(self, call: Call, place: Place) -> None:
        """Hear of a backward that has run."""

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Hear of a step that is about to use gradients; not of one with a closure."""

    def step_ended(self, optimizer: Any, place: Place) -> None:
        """Hear of a step that has written its parameters."""

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Hear of a call of a module."""

    def module_left(self, module: nn.Module, result: Any) -> None:
        """Hear of the end of such a call."""

    def mode_switched(self, module: nn.Module, training: bool, place: Place) -> None:
        """Hear of `train()` or `eval()` of a module, once for all below it."""

    def optimizer_made(self, optimizer: Any, place: Place) -> None:
        """Hear of an optimizer that takes its parameters."""

    def seen(self) -> Iterator[Seen]:
        """Yield what is known at the end."""
        yield from ()


def hearing(watchers: list[Watcher], method: str) -> list[Any]:
    """Return the methods of this name that a watcher overrides."""
    base = getattr(Watcher, method)
    return [getattr(one, method) for one in watchers if getattr(type(one), method) is not base]
