"""Sizes of operations that rearrange: view, permute, squeeze, expand, repeat, diagonal and their like."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import Dim, Shape, Sym, at_least_two, axis, product, quotient, replace, unknowns
from gradlint.shapes.arguments import axes, given, listed, resized, size, sizes, tensor, type_of
from gradlint.shapes.operand import NOTHING, Args, Operand, Result
from gradlint.shapes.rule import rule, shaped


def reshaped(shape: Shape, entries: Sequence[object] | None) -> Shape:
    """Return the shape of a view of the given sizes, one of which may be -1.

    A single entry that is not known is what the others leave for it, just as -1 is.
    """
    if entries is None:
        return None
    free = [index for index, entry in enumerate(entries) if not isinstance(entry, int | Sym) or entry == -1]
    dims = [size(entry) for entry in entries]
    if len(free) == 1 and shape is not None:
        (index,) = free
        dims[index] = quotient(shape, dims[:index] + dims[index + 1 :])
    else:
        for index in free:
            dims[index] = Sym()
    return tuple(dims)


@rule("view", "reshape", "view_copy")
def _view(args: Args) -> Result:
    self, how = tensor(args), given(args, "size", "shape", "dtype")
    if isinstance(how, str):
        return _bitcast(self, how)
    entries = listed(how)
    # One argument of which nothing is known may be a type.
    return NOTHING if entries is None else Operand(reshaped(self.shape, entries), self.dtype)


def _bitcast(self: Operand, wanted: object) -> Operand:
    """Return a view as another type: it keeps the shape but for the last size, which goes by the width."""
    dtype = type_of(wanted)
    if dtype is not None and dtype == self.dtype:
        return self
    shape = None if self.shape is None else (*self.shape[:-1], Sym()) if self.shape else ()
    return Operand(shape, dtype)


@rule("view_as", "reshape_as", "expand_as", "resize_as_", "resize_as")
def _view_as(args: Args) -> Result:
    shape = tensor(args, "other", "the_template").shape
    return Operand(shape, tensor(args).dtype)


@rule("flatten", "ravel")
def _flatten(args: Args) -> Result:
    self = tensor(args)
    start, end = args.get("start_dim", 0), args.get("end_dim", -1)
    if start == 0 and end == -1:
        return Operand((Sym(),) if self.shape is None else (product(self.shape),), self.dtype)
    return Operand(_flattened(self.shape, start, end), self.dtype)


def _flattened(shape: Shape, start: object, end: object) -> Shape:
    if shape is None:
        # Whatever the rank was: all dimensions from `start` on become one.
        return unknowns(start + 1) if isinstance(start, int) and start > 0 and end == -1 else None
    first, last = axis(start, len(shape)), axis(end, len(shape))
    if first is None or last is None or first > last:
        return None
    return (*shape[:first], product(shape[first : last + 1]), *shape[last + 1 :])


@shaped("unflatten")
def _unflatten(args: Args, shape: tuple[Dim, ...]) -> Shape:
    entries = listed(given(args, "sizes", "unflattened_size"))
    index = axis(args.get("dim"), len(shape))
    if not shape or entries is None or index is None:
        return None
    parts = reshaped((shape[index],), entries)
    return None if parts is None else replace(shape, index, *parts)


@rule("permute", "permute_copy")
def _permute(args: Args) -> Result:
    self = tensor(args)
    return Operand(_permuted(self.shape, listed(args.get("dims"))), self.dtype)


def _permuted(shape: Shape, entries: Sequence[object] | None) -> Shape:
    if entries is None:
        return None
    if shape is None:
        return tuple([Sym() for _ in entries])
    order = axes(tuple(entries), len(shape))
    if order is None or sorted(order) != list(range(len(shape))):
        return None
    return tuple([shape[index] for index in order])


@shaped("transpose", "transpose_copy")
def _transpose(args: Args, shape: tuple[Dim, ...]) -> Shape:
    return _swapped(shape, given(args, "dim0", "axis0"), given(args, "dim1", "axis1"))


def _swapped(shape: tuple[Dim, ...], one: object, other: object) -> Shape:
    first, second = axis(one, len(shape)), axis(other, len(shape))
    if first is None or second is None:
        return None
    order = {first: second, second: first}
    return tuple([shape[order.get(index, index)] for index in range(len(shape))])


shaped("t", "T", "t_copy", "H")(lambda args, shape: shape[::-1])
shaped("mT", "mH", "adjoint")(lambda args, shape: _swapped(shape, -2, -1))


@shaped("movedim")
def _movedim(args: Args, shape: tuple[Dim, ...]) -> Shape:
    rank = len(shape)
    source, target = axes(args.get("source"), rank), axes(args.get("destination"), rank)
    if source is None or target is None or len({*source}) != len(source) or len({*target}) != len(source):
        return None
    rest = iter([dim for index, dim in enumerate(shape) if index not in source])
    moved = {place: shape[index] for index, place in zip(source, target, strict=True) if shape}
    return tuple([moved[i] if i in moved else next(rest) for i in range(rank)])


@shaped("squeeze", "squeeze_copy")
def _squeeze(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Drop sizes of one; a symbol that may be one leaves the rank unknown."""
    dim = args.get("dim")
    indices = tuple(range(len(shape))) if dim is None else axes(dim, len(shape))
    if indices is None:
        return None
    dims: list[Dim] = []
    for index, length in enumerate(shape):
        if index not in indices or at_least_two(length) or length == 0:
            dims.append(length)
        elif isinstance(length, Sym):
            return None
    return tuple(dims)


@shaped("unsqueeze", "unsqueeze_copy")
def _unsqueeze(args: Args, shape: tuple[Dim, ...]) -> Shape:
    index = axis(args.get("dim"), len(shape) + 1)
    return None if index is None else (*shape[:index], 1, *shape[index:])


@rule("expand", "broadcast_to", "expand_copy")
def _expand(args: Args) -> Result:
    self = tensor(args)
    entries = listed(given(args, "size", "shape"))
    return Operand(None if entries is None else _expanded(self.shape, entries), self.dtype)


def _expanded(shape: Shape, entries: Sequence[object]) -> Shape:
    """Each entry is a size, or -1 for the tensor's own; an unknown one can only enlarge a size of one."""
    own: list[Dim] = [Sym() for _ in entries] if shape is None else [*shape]
    if len(own) > len(entries):
        return None
    added = len(entries) - len(own)
    dims: list[Dim] = [size(entry) for entry in entries[:added]]
    for entry, dim in zip(entries[added:], own, strict=True):
        kept = entry == -1 if isinstance(entry, int) else dim != 1 and (isinstance(dim, int) or dim.many)
        dims.append(dim if kept else size(entry))
    return tuple(dims)


@shaped("repeat", "tile")
def _repeat(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Return each size times its count; `tile` fills missing counts with one, and so may `repeat` never need to."""
    counts = sizes(given(args, "repeats", "dims"))
    return None if counts is None else aligned_product(shape, counts)


def aligned_product(one: tuple[Dim, ...], other: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """Return the products of sizes, counted from the last; what is missing of the shorter one is 1."""
    pairs = zip_longest(reversed(one), reversed(other), fillvalue=1)
    return tuple([product(both) for both in pairs][::-1])


@rule("repeat_interleave")
def _repeat_interleave(args: Args) -> Result:
    self = tensor(args)
    if "repeats" in args and "self" not in args and "input" not in args:
        return Operand((size(args.get("output_size")),), tensor(args, "repeats").dtype)
    if self.shape is None:
        return self
    shape = (product(self.shape),) if args.get("dim") is None else self.shape
    index = axis(args.get("dim") or 0, len(shape))
    if index is None:
        return Operand(None, self.dtype)
    repeats, length = args.get("repeats"), size(args.get("output_size"))
    if isinstance(repeats, int | Sym):
        length = product((shape[index] if shape else 1, repeats))
    return Operand(replace(shape, index, length), self.dtype)


@shaped("rot90")
def _rot90(args: Args, shape: tuple[Dim, ...]) -> Shape:
    quarters, dims = args.get("k", 1), args.get("dims", (0, 1))
    if not isinstance(quarters, int) or not isinstance(dims, tuple | list):
        return None
    return shape if quarters % 2 == 0 else _swapped(shape, *dims) if len(dims) == 2 else None


@shaped("narrow", "narrow_copy")
def _narrow(args: Args, shape: tuple[Dim, ...]) -> Shape:
    return resized(shape, args.get("dim"), size(args.get("length")))


@shaped("select", "select_copy")
def _select(args: Args, shape: tuple[Dim, ...]) -> Shape:
    index = axis(args.get("dim"), len(shape))
    return None if index is None else replace(shape, index)


@shaped("unfold", "unfold_copy")
def _unfold(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Return the shape of sliding windows along one dimension; the window becomes a new last dimension."""
    index = axis(args.get("dimension"), len(shape))
    window, step = size(args.get("size")), args.get("step")
    if index is None:
        return None
    length = shape[index] if shape else 1
    count: Dim = Sym()
    if isinstance(length, int) and isinstance(window, int) and isinstance(step, int) and step > 0:
        count = (length - window) // step + 1
    return (*(replace(shape, index, count) if shape else ()), window)


shaped("view_as_real", dtype=dtypes.to_real)(lambda args, shape: (*shape, 2))
shaped("view_as_complex", dtype=dtypes.to_complex)(lambda args, shape: shape[:-1])


@rule("as_strided", "as_strided_copy", "resize", "resize_", "set_")
def _as_strided(args: Args) -> Result:
    return Operand(sizes(args.get("size")), tensor(args).dtype)


@rule("sum_to_size")
def _sum_to_size(args: Args) -> Result:
    """Return the size asked for. A tensor that has it already may be returned as it is, without the type of a sum."""
    self = tensor(args)
    return Operand(sizes(args.get("size")), self.dtype if dtypes.to_sum(self.dtype) == self.dtype else None)
