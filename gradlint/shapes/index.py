"""Subscripts: the shape of `x[...]`, and whether it is a view of `x` or a copy."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType
from typing import NamedTuple, TypeAlias

from gradlint.domain.shape import Dim, Shape, Sym, broadcast_all
from gradlint.shapes.arguments import tensor
from gradlint.shapes.misfit import Misfit, differ
from gradlint.shapes.operand import Args, Operand, Result, Unknown
from gradlint.shapes.rule import rule


class Indexed(NamedTuple):
    """What a subscript gives. `view` is None when that is not known."""

    shape: Shape
    view: bool | None


class _Picked(NamedTuple):
    """An index tensor or a mask: the shape of its positions, and how many dimensions it uses up."""

    shape: Shape
    uses: int


_Step: TypeAlias = Dim | _Picked


def indexed(shape: Shape, index: object) -> Indexed:
    """Return the result of `x[index]` for an `x` of the given shape.

    Integers, slices, None and Ellipsis make a view. Lists, tensors, arrays and masks make a copy, and so does
    a lone True or False; an integer tensor without dimensions counts as an integer.
    """
    entries = _entries(index)
    if entries is None:
        return Indexed(None, None)
    kinds = [_is_basic(entry) for entry in entries]
    view = False if False in kinds else None if None in kinds else True
    if shape is None or any(isinstance(entry, Unknown) for entry in entries):
        return Indexed(None, view)
    steps = _steps(shape, entries)
    return Indexed(None if steps is None else _assembled(steps), view)


@rule("__getitem__")
def _getitem(args: Args) -> Result:
    self = tensor(args)
    index = args.get("indices", args.get("index", args.get("key")))
    return Operand(indexed(self.shape, index).shape, self.dtype)


def _entries(index: object) -> list[object] | None:
    """Return the entries of a subscript; None when their number is not known.

    A lone list is one index if it holds plain numbers. If it holds anything else torch 2.13 takes it for a
    tuple and announces to take it for a tensor, so nothing is certain.
    """
    if isinstance(index, tuple):
        return list(index)
    if isinstance(index, list) and not all(isinstance(item, int) for item in index):
        return None
    return None if isinstance(index, Unknown) else [index]


def _is_basic(entry: object) -> bool | None:
    """Return whether an entry keeps the result a view.

    An integer tensor without dimensions is taken as its number, a mask without dimensions is not.
    """
    if isinstance(entry, bool | list | tuple):
        return False
    if entry is None or isinstance(entry, int | slice | Sym | EllipsisType):
        return True
    if not isinstance(entry, Operand) or (entry.shape is None and entry.dtype is None):
        return None
    if entry.dtype == "bool" or entry.shape:
        return False
    exact = entry.scalar or entry.dtype not in (None, "int", "uint8")
    return True if entry.shape == () and exact else None


def _uses(entry: object) -> int | None:
    """Return how many dimensions of the tensor an entry stands for; None when that is not known."""
    if entry is None or isinstance(entry, bool):
        return 0
    if isinstance(entry, list | tuple | Operand):
        picked = _picked(entry) if isinstance(entry, Operand) else _picked_list(entry)
        return None if picked is None else picked.uses
    return 1 if isinstance(entry, int | slice | Sym) else None


def _steps(shape: tuple[Dim, ...], entries: Sequence[object]) -> list[_Step] | None:
    """Return what becomes of each dimension, in order; an integer leaves nothing."""
    if sum(entry is Ellipsis for entry in entries) > 1:
        return None
    uses = [0 if entry is Ellipsis else _uses(entry) for entry in entries]
    known = [use for use in uses if use is not None]
    if len(known) < len(uses) or sum(known) > len(shape):
        return None
    rest = len(shape) - sum(known)
    steps: list[_Step] = []
    place = 0
    for entry, use in zip(entries, known, strict=True):
        if entry is Ellipsis:
            steps.extend(shape[place : place + rest])
            place += rest
            continue
        step = _step(entry, shape[place : place + use])
        steps.extend(step if isinstance(step, list) else [step])
        place += use
    steps.extend(shape[place:])
    return steps


def _step(entry: object, dims: tuple[Dim, ...]) -> _Step | list[_Step]:
    if entry is None:
        return 1
    if isinstance(entry, bool):
        return _Picked((int(entry),), 0)
    if isinstance(entry, slice):
        return sliced(dims[0], entry)
    if isinstance(entry, list | tuple):
        return _picked_list(entry) or _Picked(None, 1)
    if isinstance(entry, Operand) and not entry.scalar and (entry.shape != () or entry.dtype == "bool"):
        return _picked(entry) or _Picked(None, 1)
    return []


def _picked(index: Operand) -> _Picked | None:
    """Return what an index tensor picks: a mask uses all its dimensions and picks an unknown number, positions one."""
    if index.scalar or (index.shape == () and index.dtype not in ("bool", "uint8", None, "int")):
        return _Picked((), 1)
    if index.dtype is None or index.dtype in ("uint8", "int"):
        return None
    if index.dtype == "bool":
        return None if index.shape is None else _Picked((Sym(),), len(index.shape))
    return _Picked(index.shape, 1)


def _picked_list(entries: Sequence[object]) -> _Picked | None:
    """Return what a list picks as a tensor: of positions if it holds numbers, a mask if it holds booleans."""
    shape: list[Dim] = []
    level: object = entries
    while isinstance(level, list | tuple):
        shape.append(len(level))
        if not level:
            return _Picked(tuple(shape), 1)
        level = level[0]
    flat = _flat(entries)
    if all(isinstance(item, bool) for item in flat):
        return _Picked((sum(bool(item) for item in flat),), len(shape))
    if all(isinstance(item, int | Sym) for item in flat):
        return _Picked(tuple(shape), 1)
    return None


def _flat(entries: object) -> list[object]:
    return [leaf for entry in entries for leaf in _flat(entry)] if isinstance(entries, list | tuple) else [entries]


def sliced(dim: Dim, part: slice) -> Dim:
    """Return how many elements a slice leaves of a dimension."""
    start, stop, step = part.start, part.stop, part.step
    step = 1 if step is None else step
    if isinstance(dim, int) and all(value is None or isinstance(value, int) for value in (start, stop, step)):
        return len(range(dim)[start:stop:step]) if step > 0 else Sym()
    if start in (None, 0) and stop is None and step == 1:
        return dim
    return Sym()


def _assembled(steps: Sequence[_Step]) -> Shape:
    """Return the dimensions that stay, and the broadcast positions where they were picked.

    The positions stand where the picked dimensions stood if these were side by side, and in front otherwise.
    """
    places = [place for place, step in enumerate(steps) if isinstance(step, _Picked)]
    kept = [step for step in steps if not isinstance(step, _Picked)]
    if not places:
        return tuple(kept)
    shape = broadcast_all([step.shape for step in steps if isinstance(step, _Picked)])
    if shape is None:
        return None
    if places[-1] - places[0] + 1 != len(places):
        return (*shape, *kept)
    return (*kept[: places[0]], *shape, *kept[places[0] :])


def index_misfit(shape: Shape, index: object) -> Misfit | None:
    """Refuse numbers behind the end of a dimension, masks of other sizes, and more indices than dimensions."""
    if not shape:
        return None
    entries = _entries(index) or ()
    uses = [0 if entry is Ellipsis else _uses(entry) for entry in entries]
    known = [use for use in uses if use is not None]
    if len(known) < len(uses):
        return None
    if sum(known) > len(shape):
        return Misfit("indices", (shape,), (sum(known),))
    rest = len(shape) - sum(known)
    place = 0
    for entry, use in zip(entries, known, strict=True):
        dims = shape[place : place + use]
        if type(entry) is int and type(dims[0]) is int and not -dims[0] <= entry < dims[0]:
            return Misfit("index", (shape,), (entry,))
        if isinstance(entry, Operand) and entry.dtype == "bool" and entry.shape and any(map(differ, dims, entry.shape)):
            return Misfit("mask", (shape, entry.shape))
        place += rest if entry is Ellipsis else use
    return None
