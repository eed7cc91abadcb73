"""Methods of torch's classes that are replaced while a program is watched: they say that they were called."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, NamedTuple

from torch import nn


class Replaced(NamedTuple):
    """A method of a class of torch's, and what is called in place of it."""

    owner: type
    name: str
    method: Any

    def put(self) -> None:
        """Replace the method."""
        setattr(self.owner, self.name, self.method)

    def take_back(self) -> None:
        """Put the method of torch's back, unless another one has taken the place of this one."""
        if getattr(self.owner, self.name) is self.method:
            setattr(self.owner, self.name, self.method.__wrapped__)


def heralded(step: Any, stepping: Callable[[Any], None]) -> Any:
    """Return a method of schedulers, optimizers or grad modes, with an announcement before it."""

    @wraps(step)
    def announced(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
        stepping(scheduler)
        return step(scheduler, *args, **kwargs)

    return announced


def cleared(clear: Any, begins: Callable[[Any], None], ended: Callable[[], None]) -> Any:
    """Return `Optimizer.zero_grad`, with announcements around what sets gradients to none."""

    @wraps(clear)
    def announced(optimizer: Any, set_to_none: bool = True) -> None:
        if not set_to_none:
            clear(optimizer, set_to_none)
            return
        begins(optimizer)
        try:
            clear(optimizer, set_to_none)
        finally:
            ended()

    return announced


def followed(method: Any, ended: Callable[[Any], None]) -> Any:
    """Return a method of modules that calls itself for their parts, with an announcement of its whole result."""
    inside: list[nn.Module] = []

    @wraps(method)
    def announced(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        if inside:
            return method(module, *args, **kwargs)
        inside.append(module)
        try:
            result = method(module, *args, **kwargs)
        finally:
            inside.pop()
        ended(result)
        return result

    return announced


def announcing(train: Any, switched: Callable[[nn.Module, bool], None]) -> Any:
    """Return `nn.Module.train`, which `eval` calls, with an announcement of the call from outside of it."""
    inside: list[nn.Module] = []

    @wraps(train)
    def announced(module: nn.Module, mode: bool = True) -> Any:
        if inside:
            return train(module, mode)
        inside.append(module)
        try:
            switched(module, mode)
            return train(module, mode)
        finally:
            inside.pop()

    return announced
