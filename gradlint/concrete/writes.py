"""The writes in place that were seen, by the storage that was written."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import NamedTuple

import torch

from gradlint.concrete.places import Place

_STORAGES = 20_000
_EACH = 8
_STEPS = 16


class Written(NamedTuple):
    """A write in place, and the version that it has led to."""

    version: int
    op: str
    place: Place


class Writes:
    """The last writes to the storages written last. The address of a storage may be used again: versions must fit."""

    def __init__(self) -> None:
        self._by_storage: OrderedDict[int, deque[Written]] = OrderedDict()
        self._steps: deque[tuple[Place, dict[int, int]]] = deque(maxlen=_STEPS)
        """The last steps of optimizers, with the versions to which they led."""

    def clear(self) -> None:
        """Know of no write: others may have followed unseen."""
        self._by_storage.clear()
        self._steps.clear()

    def stepped(self, memories: Iterable[tuple[int, int]], place: Place) -> None:
        """Note what the step of an optimizer has written."""
        self._steps.append((place, dict(memories)))

    def note(self, memory: tuple[int, int], op: str, place: Place) -> None:
        """Note a write to a storage that has this version now."""
        storage, version = memory
        known = self._by_storage.get(storage)
        if known is None:
            if len(self._by_storage) >= _STORAGES:
                self._by_storage.popitem(last=False)
            known = self._by_storage[storage] = deque(maxlen=_EACH)
        elif known[-1].version >= version:
            known.clear()  # It is another storage, at the same address.
        known.append(Written(version, op, place))

    def after(self, storage: int, expected: int, found: int) -> Written | None:
        """Return the first write after a version was saved, if the last one that is known led to the version found."""
        known = [*self._by_storage.get(storage, ())]
        known += [Written(one[storage], "optimizer.step", place) for place, one in self._steps if storage in one]
        known.sort(key=lambda one: one.version)
        if not known or known[-1].version != found:
            return None
        return next((one for one in known if one.version > expected), None)

    def between(self, reads: Iterable[tuple[int, int]], expected: int, found: int) -> Written | None:
        """Return the write to one of these storages that leads from one version to the other; None if it is unclear."""
        of = {storage for storage, version in reads if version == expected}
        writes = [one for storage in of if (one := self.after(storage, expected, found)) is not None]
        return writes[0] if len({one.place.key for one in writes}) == 1 else None


def memories_of(tensors: Iterable[torch.Tensor]) -> tuple[tuple[int, int], ...]:
    """Return the storages of tensors, and their versions, without those that have no storage."""
    try:
        return tuple([(one.untyped_storage()._cdata, one._version) for one in tensors])
    except (NotImplementedError, RuntimeError):
        return tuple(key for one in tensors if (key := memory_of(one)) is not None)


def memory_of(tensor: torch.Tensor) -> tuple[int, int] | None:
    """Return the storage of a tensor, and its version; None for one without a storage."""
    try:
        return tensor.untyped_storage()._cdata, tensor._version
    except (NotImplementedError, RuntimeError):
        return None  # Sparse, of inference mode, of a transform of torch.func, or of a class of the program's own.
