"""Memory that is saved for backward and changed where the version counter does not see it.

A write through `.data` is seen when it runs: where a graph is alive, the memory is summed before it, and again by the
backward that reads it. With `--checksums`, what each operation saves is summed at once, and again by the backward that
runs through it: that tells of arrays of numpy, and of all else.
"""

from __future__ import annotations

import ast
import sys
import weakref
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import torch

from gradlint.concrete.calls import Call
from gradlint.concrete.checksums import Checksum, checksum
from gradlint.concrete.operations import name_of
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.seen import Seen
from gradlint.concrete.tape import LABEL, Label, Way, label_of_function, saved
from gradlint.concrete.watcher import Known, Watcher
from gradlint.concrete.writes import memory_of
from gradlint.concrete.written import nodes_of, own_frames, spot_of, value_of
from gradlint.domain.fault.inplace import HiddenWriteToSaved, SavedMemoryChanged

Tensor = torch.Tensor
_SUMS = "gradlint.sums"
_PACKED = "gradlint.packed"
_STORAGES = 1000
_OTHER = -1, -1
_STATISTICS = ("running_mean", "running_var")
"""Normalisations in training write to these past the version counter themselves, and do not read them in backward."""
_FILLS = ("fill", "sort", "put", "partition", "itemset")
"""Methods by which an array changes itself."""


class Write(NamedTuple):
    """A write through `.data`: when it ran, where, and the memory before it, with where that lies in its storage."""

    number: int
    place: Place
    before: Checksum
    dtype: torch.dtype
    lies: tuple[Any, torch.Size, tuple[int, ...]]


class Hidden(Watcher):
    """Compares saved memory with what it was; `sums`: all that is saved, and not only what `.data` has written."""

    def __init__(self, known: Known, sums: bool) -> None:
        super().__init__(known)
        self.sums = sums
        self.aliases: dict[int, tuple[weakref.ref[Tensor], weakref.ref[Tensor]]] = {}
        """The tensors of `.data` that are alive, each with the one that it was read of."""
        self._writes: dict[int, list[Write]] = {}
        self._pending: list[tuple[int, Write]] = []
        self.graph = False
        """Whether a graph may be alive."""
        self._found: dict[tuple[int, int], Seen] = {}

    def data_read(self, result: Tensor, source: Tensor) -> None:
        """Note a tensor that shares memory with another one, and has a version counter of its own."""
        key, aliases = id(result), self.aliases
        aliases[key] = weakref.ref(result, lambda _: aliases.pop(key, None)), weakref.ref(source)

    def sources_of(self, tensors: list[Tensor]) -> list[Tensor]:
        """Return for each tensor the one of which it is `.data`; itself, if it is of none that is known."""
        known = ((one, self.aliases[id(one)][1]() if self._is_known(one) else None) for one in tensors)
        return [one if source is None else source for one, source in known] if self.aliases else tensors

    def _is_alias(self, tensor: Tensor) -> bool:
        """Return whether a tensor is `.data` of another one, or a view of that."""
        return self._is_known(tensor) or (tensor._base is not None and self._is_known(tensor._base))

    def _is_known(self, tensor: Tensor) -> bool:
        known = self.aliases.get(id(tensor))
        return known is not None and known[0]() is tensor

    def may_write(self, given: list[Tensor], number: int, place: Place | None) -> None:
        """Sum the memory that an operation may write to past the version counter of others, before it runs."""
        self._pending = []
        for one in given[:1] if place is not None and self.graph else ():
            memory, before = memory_of(one), checksum(one) if self._is_alias(one) else None
            if memory is not None and before is not None and place is not None:
                lies = one.storage_offset(), one.shape, one.stride()
                self._pending.append((memory[0], Write(number, place, before, one.dtype, lies)))

    def written(self, tensors: list[Tensor]) -> None:
        """Note what such an operation has written."""
        if not self._pending:
            return
        storages = {memory[0] for one in tensors if (memory := memory_of(one)) is not None}
        for storage, write in self._pending:
            if storage in storages:
                self._note(storage, write)
        self._pending = []

    def _note(self, storage: int, write: Write) -> None:
        if len(self._writes) >= _STORAGES:
            self._writes.clear()
        self._writes.setdefault(storage, []).append(write)

    def data_set(self, tensor: Tensor, number: int, place: Place | None) -> None:
        """Note that a tensor gets other memory, which what has saved a leaf reads from here on; values may be equal."""
        memory = memory_of(tensor) if self.sums else None
        if memory is not None and place is not None:
            lies = tensor.storage_offset(), tensor.shape, tensor.stride()
            self._note(memory[0], Write(number, place, _OTHER, tensor.dtype, lies))

    def labelled(self, made: list[Tensor], packed: bool) -> None:
        """Sum what operations have saved, unless it is `packed` by hooks, which would compute it again to be read."""
        stack: list[Any] = [one.grad_fn for one in made if one.grad_fn is not None]
        while stack:
            node = stack.pop()
            metadata = node.metadata
            if packed:
                metadata[_PACKED] = True
            elif _SUMS not in metadata:
                metadata[_SUMS] = {name: checksum(value) for name, value in _saved(node)}
            below = (one for one, _ in node.next_functions if one is not None)
            stack += [one for one in below if not {LABEL, _SUMS, _PACKED} & one.metadata.keys()]

    def backward_begins(self, call: Call, place: Place) -> None:
        """Compare what the nodes have saved that this backward runs through."""
        for way in call.ways if self._writes or self.sums else ():
            label = way.label or label_of_function(way.node)
            if label is None or _PACKED in way.node.metadata:
                continue
            seen = (self._summed if self.sums else self._overwritten)(way, label, place)
            if seen is not None:
                self._found.setdefault(seen.place.key, seen)

    def backpropagated(self, call: Call, place: Place) -> None:
        """Forget writes once a graph is freed: what others have saved is mostly younger."""
        if not call.retains:
            self.graph = False
            self._writes.clear()

    def _overwritten(self, way: Way, label: Label, place: Place) -> Seen | None:
        """Return the write through `.data` that has changed what a node has saved."""
        for _, value in _saved(way.node):
            write = self._write(value, label)
            if write is not None and _now(value, write) != write.before:
                return _seen(write.place, label, place)
        return None

    def _write(self, value: Tensor, label: Label) -> Write | None:
        """Return the first write through `.data` to the memory of a saved tensor since it was saved."""
        memory = memory_of(value)
        writes = self._writes.get(memory[0], ()) if memory is not None else ()
        return next((one for one in writes if one.number >= label.number and _overlaps(value, one)), None)

    def _summed(self, way: Way, label: Label, place: Place) -> Seen | None:
        """Return what has changed that a node has saved: the write, or else the backward that reads it."""
        sums = way.node.metadata.get(_SUMS)
        for name, value in _saved(way.node) if sums else ():
            before = sums.get(name)
            if before is None or checksum(value) in (before, None):
                continue
            write = self._write(value, label)
            if write is not None:
                return _seen(write.place, label, place)
            spot = _array_write(value, sys._getframe(1))
            if spot is not None:
                return _seen(spot, label, place, numpy=True)
            return Seen(SavedMemoryChanged, place, {"saver": label.place, "saver_op": label.op})
        return None

    def paused(self) -> None:
        """Forget what may be otherwise afterwards."""
        self._writes.clear()
        self.graph = False

    def seen(self) -> Iterator[Seen]:
        """Yield the writes."""
        yield from self._found.values()


def writes(func: Any) -> bool:
    """Return whether an operation may write to its first argument, by its name."""
    return name_of(func).endswith("_") or name_of(func) == "index assignment"


def _saved(node: Any) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors that a node has saved and that torch lets it read."""
    for name, read in saved(node):
        try:
            value = read()
        except RuntimeError:
            continue
        for number, one in enumerate(value if isinstance(value, (tuple, list)) else (value,)):
            if isinstance(one, Tensor) and name not in _STATISTICS:
                yield f"{name} {number}", one


def _overlaps(value: Tensor, write: Write) -> bool:
    """Return whether a saved tensor has an element of the memory that was written, which is in the same storage."""
    size = write.dtype.itemsize
    if value.element_size() != size or value.layout is not torch.strided:
        return False
    offset, shape, stride = write.lies
    with torch.no_grad():
        mask = torch.zeros(value.untyped_storage().nbytes() // size, dtype=torch.bool)
        mask.as_strided(shape, stride, offset).fill_(True)
        return bool(mask.as_strided(value.shape, value.stride(), value.storage_offset()).any())


def _now(value: Tensor, write: Write) -> Checksum | None:
    """Return the checksum of the memory that was written, as it is now."""
    offset, shape, stride = write.lies
    try:
        with torch.no_grad():
            whole = torch.empty(0, dtype=write.dtype, device=value.device)
            return checksum(whole.set_(value.untyped_storage(), offset, shape, stride))
    except RuntimeError:
        return write.before


def _seen(at: Place | Spot, label: Label, backward: Place, *, numpy: bool = False) -> Seen:
    fields = {"saver": label.place, "saver_op": label.op, "backward": backward, "numpy": numpy}
    return Seen(HiddenWriteToSaved, at, fields)


def _array_write(value: Tensor, frame: FrameType | None) -> Spot | None:
    """Return the only statement in the functions that run that writes to an array with this memory."""
    numpy = sys.modules.get("numpy")
    found: set[Spot] = set()
    for one in own_frames(frame) if numpy is not None and value.device.type == "cpu" else ():
        for node in nodes_of(one.f_code.co_filename):
            for base in _written_by(node):
                array = value_of(base, one)
                if isinstance(array, numpy.ndarray) and _shares(array, value):  # type: ignore[union-attr]
                    found.add(spot_of(one.f_code.co_filename, node))  # type: ignore[arg-type]
    return found.pop() if len(found) == 1 else None


def _written_by(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the names of what a statement or a call writes to, if they are arrays."""
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Subscript):
                yield target.value
            elif isinstance(node, ast.AugAssign):
                yield target
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in _FILLS:
            yield node.func.value
        yield from (one.value for one in node.keywords if one.arg == "out")
        if node.func.attr == "copyto":
            yield from node.args[:1]


def _shares(array: Any, value: Tensor) -> bool:
    """Return whether an array lies in the storage of a tensor."""
    storage = value.untyped_storage()
    start: int = array.__array_interface__["data"][0]
    return storage.data_ptr() <= start < storage.data_ptr() + storage.nbytes()
