"""How a running program calls its tensors, its parameters and its optimizers, by the variables of its frames."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, TypeAlias

import torch
from torch import nn

from gradlint.concrete.holders import items_of
from gradlint.concrete.written import own_frames

Memory: TypeAlias = "tuple[int, int, torch.Size, tuple[int, ...]]"


class Variables:
    """The variables that are there at one moment. Of objects it keeps the ids alone, so it is of use in that moment."""

    def __init__(self, frame: FrameType | None) -> None:
        self._by_id: dict[int, str] = {}
        self._by_memory: dict[Memory, str] = {}
        for name, value in _variables(frame):
            self._note(name, value)

    def _note(self, name: str, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._by_id.setdefault(id(value), name)
            memory = _memory_of(value)
            if memory is not None:
                self._by_memory.setdefault(memory, name)
        elif isinstance(value, nn.Module):
            for inner, one in value.named_parameters():
                self._note(f"{name}.{inner}", one)
        elif isinstance(value, torch.optim.Optimizer):
            self._by_id.setdefault(id(value), name)

    def of(self, value: object) -> str | None:
        """Return the variable that holds an object itself."""
        return self._by_id.get(id(value))

    def sharing(self, tensor: torch.Tensor) -> str | None:
        """Return the variable that holds a tensor, or one of the same elements in the same memory."""
        memory = _memory_of(tensor)
        return self.of(tensor) or (None if memory is None else self._by_memory.get(memory))


def _variables(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """Yield the variables of the frames, the innermost first, and what objects in them hold; `self` comes last."""
    named: list[tuple[str, Any]] = []
    known: set[int] = set()
    for one in own_frames(frame):
        for variables in (one.f_locals, one.f_globals):
            if id(variables) not in known:
                known.add(id(variables))
                named += [(name, value) for name, value in list(variables.items()) if not name.startswith("__")]
    named.sort(key=lambda one: one[0] == "self")
    named += [(name, value) for name, value in list(vars(sys.modules["__main__"]).items()) if name[:2] != "__"]
    yield from named
    for name, value in named:
        if not isinstance(value, (torch.Tensor, nn.Module)):
            yield from ((name + part, one) for part, one in items_of(value))


def _memory_of(tensor: torch.Tensor) -> Memory | None:
    try:
        return tensor.untyped_storage()._cdata, int(tensor.storage_offset()), tensor.shape, tensor.stride()
    except (NotImplementedError, RuntimeError):
        return None  # Sparse, of a transform of torch.func, or of a class of the program's own.
