"""Sizes of diagonals, of matrices made from them, and of padded tensors."""

from __future__ import annotations

from gradlint.domain.shape import Dim, Shape, Sym, axis, product
from gradlint.shapes.arguments import tensor
from gradlint.shapes.operand import Args, Operand, Result
from gradlint.shapes.rule import rule, shaped


@rule("diagonal", "linalg.diagonal", "diagonal_copy")
def _diagonal(args: Args) -> Result:
    matrix = "A" in args
    self = tensor(args, "A") if matrix else tensor(args)
    first, second = args.get("dim1", -2 if matrix else 0), args.get("dim2", -1 if matrix else 1)
    shape = None if self.shape is None else _diagonal_shape(self.shape, args.get("offset", 0), first, second)
    return Operand(shape, self.dtype)


def _diagonal_shape(shape: tuple[Dim, ...], offset: object, one: object, other: object) -> Shape:
    first, second = axis(one, len(shape)), axis(other, len(shape))
    if first is None or second is None or first == second:
        return None
    rest = tuple([dim for index, dim in enumerate(shape) if index not in (first, second)])
    return (*rest, _diagonal_length(shape[first], shape[second], offset))


def _diagonal_length(rows: Dim, columns: Dim, offset: object) -> Dim:
    if offset == 0 and rows is columns:
        return rows
    if not isinstance(rows, int) or not isinstance(columns, int) or not isinstance(offset, int):
        return Sym()
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)


@shaped("diag")
def _diag(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Make a matrix of a vector, or take the diagonal of a matrix."""
    return (_diagonal_shape if len(shape) == 2 else _embedded)(shape, args.get("diagonal", 0), 0, 1)


@shaped("diag_embed")
def _diag_embed(args: Args, shape: tuple[Dim, ...]) -> Shape:
    return _embedded(shape, args.get("offset", 0), args.get("dim1", -2), args.get("dim2", -1))


@rule("diagflat")
def _diagflat(args: Args) -> Result:
    self = tensor(args)
    flat = Sym() if self.shape is None else product(self.shape)
    return Operand(_embedded((flat,), args.get("offset", 0), 0, 1), self.dtype)


def _embedded(shape: tuple[Dim, ...], offset: object, one: object, other: object) -> Shape:
    """Return the last dimension laid along the diagonal of two new ones."""
    first, second = axis(one, len(shape) + 1), axis(other, len(shape) + 1)
    if not shape or first is None or second is None or first == second:
        return None
    side: Dim = shape[-1] if offset == 0 else Sym()
    if isinstance(shape[-1], int) and isinstance(offset, int):
        side = shape[-1] + abs(offset)
    rest = iter(shape[:-1])
    return tuple([side if i in (first, second) else next(rest) for i in range(len(shape) + 1)])


@shaped("constant_pad_nd", "pad")
def _pad(args: Args, shape: tuple[Dim, ...]) -> Shape:
    """Add pairs of paddings, for the last dimension first; negative ones crop."""
    pads = args.get("pad")
    if not isinstance(pads, tuple | list) or len(pads) > 2 * len(shape):
        return None
    dims = list(shape)
    for place in range(len(pads) // 2):
        dims[-1 - place] = _padded(dims[-1 - place], pads[2 * place], pads[2 * place + 1])
    return tuple(dims)


def _padded(dim: Dim, before: object, after: object) -> Dim:
    if not isinstance(before, int) or not isinstance(after, int):
        return Sym()
    added = before + after
    if isinstance(dim, int):
        return dim + added
    return dim if added == 0 else Sym(many=added >= 2 or (added > 0 and dim.many))
