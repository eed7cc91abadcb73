"""Sizes of operations that put tensors together or take one apart: cat, stack, split, unbind, meshgrid."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gradlint.domain.dtype import DType, promote
from gradlint.domain.shape import Dim, Shape, Sym, at_least_two, axis, product, replace, total
from gradlint.shapes.arguments import given, resized, size, tensor, tensors, unpacked
from gradlint.shapes.operand import NOTHING, UNKNOWN, Args, Operand, Result, Several, as_operand, promoted
from gradlint.shapes.rule import rule
from gradlint.shapes.view import aligned_product

MOST_PIECES: Final = 1024
"""Beyond so many pieces only what holds for each of them is known, lest a large tensor make a huge tuple."""


def _items(args: Args) -> tuple[tuple[Operand, ...] | None, Operand]:
    """Return the tensors of a list, or, when their number is not known, what holds for each of them."""
    value = given(args, "tensors", "input")
    if isinstance(value, Several):
        each = value.each if isinstance(value.each, Operand) and value.items is None else NOTHING
        items = None if value.items is None else tensors(value.items)
        return items, each
    return unpacked(value), NOTHING


def _unified(dims: Sequence[Dim]) -> Dim:
    """Return the one of sizes that torch demands to be equal: a number if one is known, else the best known symbol."""
    return max(dims, key=lambda dim: (isinstance(dim, int), at_least_two(dim) and not isinstance(dim, int)))


@rule("cat")
def _cat(args: Args) -> Result:
    items, each = _items(args)
    dim = given(args, "dim", "axis", default=0)
    if items is None:
        return Operand(resized(each.shape, dim, Sym()), each.dtype)
    return Operand(_joined([item.shape for item in items], dim), promoted(items) if items else None)


def _joined(shapes: Sequence[Shape], dim: object) -> Shape:
    """Add up the sizes along `dim`; the others agree.

    For compatibility torch leaves out tensors of shape (0,) whatever the rank of the others is: beside another
    rank a tensor with one dimension counts for nothing, and alone it does not give the rank of those not known.
    """
    known = [shape for shape in shapes if shape is not None]
    rank = max((len(shape) for shape in known), default=0)
    missing = len(known) < len(shapes)
    if rank == 0 or (missing and rank == 1 and not any(isinstance(s[0], int) and s[0] for s in known if s)):
        return None
    full = [shape for shape in known if len(shape) == rank]
    index = axis(dim, rank)
    if index is None:
        return tuple([Sym() for _ in range(rank)])
    dims = [_unified([shape[i] for shape in full]) for i in range(rank)]
    along = [shape[index] for shape in full]
    dims[index] = Sym(many=any(at_least_two(one) for one in along)) if missing else total(along)
    return tuple(dims)


@rule("stack")
def _stack(args: Args) -> Result:
    items, each = _items(args)
    dim = given(args, "dim", "axis", default=0)
    if items is None:
        return Operand(_stacked([each.shape], Sym(), dim), each.dtype)
    return Operand(_stacked([item.shape for item in items], len(items), dim), promoted(items) if items else None)


def _stacked(shapes: Sequence[Shape], count: Dim, dim: object) -> Shape:
    known = [shape for shape in shapes if shape is not None]
    if not known or any(len(shape) != len(known[0]) for shape in known):
        return None
    index = axis(dim, len(known[0]) + 1)
    if index is None:
        return None
    dims = [_unified([shape[i] for shape in known]) for i in range(len(known[0]))]
    return (*dims[:index], count, *dims[index:])


def raised(shape: Shape, rank: int) -> Shape:
    """Return the shape with at least `rank` dimensions, filled as `atleast_1d`, `atleast_2d` and `atleast_3d` do."""
    if shape is None or len(shape) >= rank:
        return shape
    if rank < 3:
        return (1,) * (rank - len(shape)) + shape
    return ((1, 1, 1), (1, *shape, 1), (*shape, 1))[len(shape)]


def _raised_type(items: Sequence[Operand]) -> DType:
    """Return the type of tensors raised to some dimensions, which all count alike in promotion."""
    return promote(*[item.dtype for item in items]) if items else None


def _cat_raised(args: Args, rank: int, dim: int) -> Result:
    items, each = _items(args)
    if items is None:
        return Operand(None, each.dtype)
    shapes = [raised(item.shape, rank) for item in items]
    # Raised tensors have the same rank, so one of more dimensions than asked for has the rank of all.
    return Operand(_joined(shapes, dim), _raised_type(items))


@rule("hstack")
def _hstack(args: Args) -> Result:
    items, each = _items(args)
    shapes = [raised(item.shape, 1) for item in items or ()]
    if not shapes or shapes[0] is None:
        return Operand(None, each.dtype if items is None else _raised_type(items))
    return _cat_raised(args, 1, 0 if len(shapes[0]) == 1 else 1)


rule("vstack")(lambda args: _cat_raised(args, 2, 0))
rule("dstack")(lambda args: _cat_raised(args, 3, 2))


@rule("column_stack")
def _column_stack(args: Args) -> Result:
    items, each = _items(args)
    if items is None:
        return Operand(None, each.dtype)
    shapes = [one if one is None or len(one) > 1 else (product(one), 1) for one in (item.shape for item in items)]
    return Operand(_joined(shapes, 1), _raised_type(items))


def _atleast(args: Args, rank: int) -> Result:
    value = given(args, "input", "self", "tensors")
    if isinstance(value, Operand):
        return Operand(raised(value.shape, rank), value.dtype)
    items = unpacked(value)
    # A tuple of one is either `*tensors`, which gives a tensor, or a tuple of one, which gives a tuple.
    if items is None or (len(items) == 1 and isinstance(value, tuple) and isinstance(value[0], Operand)):
        return NOTHING
    return Several(tuple([Operand(raised(item.shape, rank), item.dtype) for item in items]))


for _rank in (1, 2, 3):
    rule(f"atleast_{_rank}d")(partial(_atleast, rank=_rank))


@rule("split", "unsafe_split", "split_with_sizes", "unsafe_split_with_sizes", "split_with_sizes_copy", "split_copy")
def _split(args: Args) -> Result:
    self = tensor(args, "tensor", "self", "input")
    how = given(args, "split_size_or_sections", "split_size", "split_sizes", "sections")
    index = axis(args.get("dim", 0), len(self.shape or ()))
    if isinstance(how, tuple | list):
        return _parts(self, index, [size(part) for part in how])
    if not self.shape or index is None:
        return Several(None, Operand(None, self.dtype))
    length = self.shape[index]
    if not isinstance(how, int) or not isinstance(length, int):
        return _pieces(self, self.shape, index)
    if how <= 0:
        return _parts(self, index, [length]) if how == 0 == length else NOTHING
    starts = range(0, length, how) if length else range(1)
    if len(starts) > MOST_PIECES:
        return _pieces(self, self.shape, index)
    return _parts(self, index, [min(how, length - start) for start in starts])


def _parts(self: Operand, index: int | None, lengths: Sequence[Dim]) -> Several:
    """Return the pieces of one tensor with the given sizes along one dimension."""
    if self.shape is None or index is None:
        return Several((Operand(None, self.dtype),) * len(lengths))
    shape = self.shape
    return Several(tuple([Operand(replace(shape, index, length), self.dtype) for length in lengths]))


def _pieces(self: Operand, shape: tuple[Dim, ...], index: int) -> Several:
    """Return an unknown number of pieces; the last one may be smaller than the others."""
    return Several(None, Operand(replace(shape, index, Sym()), self.dtype), ragged=index)


@rule("chunk", "unsafe_chunk")
def _chunk(args: Args) -> Result:
    self, count = tensor(args), args.get("chunks")
    index = axis(args.get("dim", 0), len(self.shape or ()))
    if not self.shape or index is None:
        return Several(None, Operand(None, self.dtype))
    length = self.shape[index]
    if isinstance(count, int) and 0 < count <= MOST_PIECES:
        if isinstance(length, int):
            return _parts(self, index, _chunk_lengths(length, count))
        if count == 1:
            return _parts(self, index, [length])
        if count == 2 and length.many:
            return _parts(self, index, [Sym(), Sym()])
    return _pieces(self, self.shape, index)


def _chunk_lengths(length: int, count: int) -> list[int]:
    """Pieces of equal size but for the last; there may be fewer than asked for."""
    if length == 0:
        return [0] * count
    step = -(-length // count)
    return [min(step, length - start) for start in range(0, length, step)]


rule("tensor_split")(lambda args: _split_evenly(args, args.get("dim", 0)))
rule("vsplit")(lambda args: _split_evenly(args, 0))
rule("dsplit")(lambda args: _split_evenly(args, 2))


@rule("hsplit")
def _hsplit(args: Args) -> Result:
    shape = tensor(args).shape
    return _split_evenly(args, UNKNOWN if shape is None else 0 if len(shape) == 1 else 1)


def _split_evenly(args: Args, dim: object) -> Result:
    """Return a number of pieces as even as can be, or the pieces between given borders."""
    self = tensor(args)
    how = given(args, "indices_or_sections", "indices", "sections", "tensor_indices_or_sections")
    index = None if self.shape is None else axis(dim, len(self.shape))
    if isinstance(how, Operand) or not isinstance(how, int | tuple | list):
        return Several(None, Operand(None, self.dtype))
    pieces = how if isinstance(how, int) else len(how) + 1
    if pieces > MOST_PIECES:
        return Several(None, Operand(None, self.dtype))
    length = None if not self.shape or index is None else self.shape[index]
    if not isinstance(length, int):
        return _parts(self, index, [Sym() for _ in range(pieces)])
    if isinstance(how, int):
        small, larger = divmod(length, pieces) if pieces > 0 else (0, 0)
        return _parts(self, index, [small + (place < larger) for place in range(pieces)])
    return _parts(self, index, _between(length, how))


def _between(length: int, borders: Sequence[object]) -> list[Dim]:
    """Return the sizes between borders, each taken as the bound of a slice."""
    return [
        len(range(length)[start:stop]) if isinstance(start, int) and isinstance(stop, int) else Sym()
        for start, stop in zip((0, *borders), (*borders, length), strict=True)
    ]


@rule("unbind", "unbind_copy", "__iter__")
def _unbind(args: Args) -> Result:
    self = tensor(args)
    index = axis(args.get("dim", 0), len(self.shape or ()))
    if not self.shape or index is None:
        return Several(None, Operand(None, self.dtype))
    length, item = self.shape[index], Operand(replace(self.shape, index), self.dtype)
    counted = isinstance(length, int) and length <= MOST_PIECES
    return Several((item,) * length if counted else None, item)  # type: ignore[operator]


@rule("meshgrid")
def _meshgrid(args: Args) -> Result:
    items, each = _items(args)
    if items is None:
        return Several(None, Operand(None, each.dtype))
    if any(item.shape is None for item in items):
        return Several(tuple([Operand(None, item.dtype) for item in items]))
    dims = [product(item.shape) for item in items if item.shape is not None]
    indexing = args.get("indexing", "ij")
    if indexing not in ("ij", "xy", None):
        dims = [Sym() for _ in dims]
    elif indexing == "xy" and len(dims) >= 2:
        dims[0], dims[1] = dims[1], dims[0]
    return Several(tuple([Operand(tuple(dims), item.dtype) for item in items]))


@rule("cartesian_prod")
def _cartesian_prod(args: Args) -> Result:
    items, _ = _items(args)
    if not items:
        return NOTHING
    dtype = promote(*[item.dtype for item in items])
    if len(items) == 1:
        return Operand(items[0].shape, dtype)
    known = [item.shape for item in items if item.shape is not None]
    rows = product([dim for shape in known for dim in shape]) if len(known) == len(items) else Sym()
    return Operand((rows, len(items)), dtype)


@rule("combinations")
def _combinations(args: Args) -> Result:
    return Operand((Sym(), size(args.get("r", 2))), tensor(args).dtype)


@rule("block_diag")
def _block_diag(args: Args) -> Result:
    items, _ = _items(args)
    return Operand((Sym(), Sym()), promote(*[item.dtype for item in items])) if items else NOTHING


@rule("kron")
def _kron(args: Args) -> Result:
    one, other = tensor(args), as_operand(args.get("other"))
    dtype = promoted((one, other))
    if one.shape is None or other.shape is None:
        return Operand(None, dtype)
    return Operand(aligned_product(one.shape, other.shape), dtype)
