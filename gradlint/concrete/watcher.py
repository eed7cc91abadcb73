"""What a part of the concrete machine hears of the program, beside the tape and the training loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn

from gradlint.concrete.calls import Call
from gradlint.concrete.cuts import Cut
from gradlint.concrete.leaf import Leaf
from gradlint.concrete.places import Place, Places
from gradlint.concrete.seen import Seen
from gradlint.concrete.training import Training
from gradlint.domain.event import Fault

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


class Known(NamedTuple):
    """What all watchers look at.

    `cut` returns where a tensor has lost its graph. `inside` are the modules that are being called, the outermost
    first, and `inner` the ids of modules of which a watcher hears although they are called inside of others.
    `places` are the lines of the program at which torch was called.
    """

    training: Training
    cut: Callable[[Tensor], Cut | None]
    inside: list[nn.Module]
    inner: set[int]
    places: Places


class Watcher:
    """Hears what happens, once it has happened. What a class does not override costs nothing.

    No watcher keeps a tensor, a node or a module alive, or writes to any.
    """

    sought: tuple[type[Fault], ...] = ()
    """The faults for which it looks in all that is watched: where none is seen, it did not occur."""

    functions: frozenset[Any] = frozenset()
    """The functions of torch of which it hears, as operations."""
    files: frozenset[str] = frozenset()
    """The files of torch's own: it hears of all operations that they call."""

    def __init__(self, known: Known) -> None:
        self.training, self.cut, self.inside, self.inner, self.places = known

    def operated(self, it: Operation) -> None:
        """Hear of an operation, of one of the `functions`, or called in one of the `files`."""

    def gradient_read(self, tensor: Tensor, gradient: Tensor | None, place: Place) -> None:
        """Hear that a line of the program itself has read the `.grad` of a tensor."""

    def backward_begins(self, call: Call, place: Place) -> None:
        """Hear of a backward, before torch runs it."""

    def backpropagated(self, call: Call, place: Place) -> None:
        """Hear of a backward that has run."""

    def backward_failed(self, call: Call, place: Place) -> None:
        """Hear of a backward that has raised."""

    def step_begins(self, optimizer: Any, leaves: list[Leaf], place: Place) -> None:
        """Hear of a step that is about to use gradients; of one with a closure in which a backward ran, after it."""

    def step_ended(self, optimizer: Any, place: Place) -> None:
        """Hear of a step that has written its parameters."""

    def module_entered(self, module: nn.Module, place: Place) -> None:
        """Hear of a call of a module: of one that no other module calls, or of one of the `inner`."""

    def module_left(self, module: nn.Module, result: Any, place: Place) -> None:
        """Hear of the end of a call of a module that no other module has called."""

    def mode_switched(self, module: nn.Module, training: bool, place: Place) -> None:
        """Hear of `train()` or `eval()` of a module, once for all below it."""

    def registered(self, module: nn.Module, parameter: Tensor, place: Place | None) -> None:
        """Hear of a parameter that a module registers; `place` is where the program makes it, and no package."""

    def scheduler_steps(self, scheduler: Any, place: Place) -> None:
        """Hear of a learning rate scheduler that is about to step."""

    def optimizer_made(self, optimizer: Any, place: Place) -> None:
        """Hear of an optimizer that takes its parameters."""

    def iteration_ended(self) -> None:
        """Hear that a watched iteration is over: the step has ended that is its last."""

    def state_taken(self, state: Any, place: Place) -> None:
        """Hear of the state dict of a module, between samples as well."""

    def iteration_passed(self, number: int) -> None:
        """Hear that so many iterations are over, of which nobody has watched the last: of every sixteenth."""

    def program_ended(self) -> None:
        """Hear that the program is over, and has not failed."""

    def paused(self) -> None:
        """Hear that nothing is heard for a while: drop all that may be otherwise afterwards."""

    def seen(self) -> Iterator[Seen]:
        """Yield what is known at the end."""
        yield from ()


def forget(watchers: list[Watcher]) -> None:
    """Have watchers drop what another line might have made right: it runs unseen, or the program has failed."""
    for one in watchers:
        one.paused()


def hearing(watchers: list[Watcher], method: str) -> list[Any]:
    """Return the methods of this name that a watcher overrides."""
    base = getattr(Watcher, method)
    return [getattr(one, method) for one in watchers if getattr(type(one), method) is not base]


ANNOUNCED = (
    *("gradient_read", "backward_begins", "backpropagated", "backward_failed", "step_begins", "step_ended"),
    *("module_entered", "module_left", "mode_switched", "registered", "scheduler_steps", "optimizer_made"),
    *("iteration_ended", "iteration_passed", "program_ended", "state_taken"),
)
"""The methods by which watchers hear of what is no operation."""
