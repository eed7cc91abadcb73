"""The readers of partly known arguments; what they cannot tell is None, or a fresh symbol where a size is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, Sym, axis, replace
from gradlint.shapes.operand import NOTHING, Args, Operand, as_operand

# Tuples, for they are tested faster than unions and these tests stand on the hot path.
_SEQUENCES: Final = (tuple, list)
_SIZES: Final = (int, Sym)

_WORKED_UPON: Final = ("input", "self", "A", "x", "tensor")
"""What torch calls the first argument of functions, methods and linear algebra."""


def tensor(args: Args, *names: str) -> Operand:
    """Return the first of the named arguments that is given, as an operand; without names, the one worked upon."""
    for name in names or _WORKED_UPON:
        if name in args:
            return as_operand(args[name])
    return NOTHING


def given(args: Args, *names: str, default: object = None) -> object:
    """Return the first of the named arguments that is given, as it is."""
    for name in names:
        if name in args:
            return args[name]
    return default


def tensors(value: object) -> tuple[Operand, ...] | None:
    """Return the operands of a tuple or list, or None when it is not one or its length is not known."""
    if isinstance(value, _SEQUENCES):
        return tuple([as_operand(item) for item in value])
    return None


def unpacked(value: object) -> tuple[Operand, ...] | None:
    """Return the operands of an argument that takes `*tensors` or one list of them."""
    if isinstance(value, _SEQUENCES) and len(value) == 1 and not isinstance(value[0], Operand):
        return tensors(value[0])
    return tensors(value)


def flag(args: Args, name: str, default: bool) -> bool | None:
    """Return a boolean argument, or None when it is not known."""
    value = args.get(name, default)
    return bool(value) if isinstance(value, int) else None


def size(value: object) -> Dim:
    """Return a size given as an argument; a fresh symbol when it is not known."""
    if isinstance(value, Sym):
        return value
    if isinstance(value, int):
        return int(value)
    return Sym()


def sizes(value: object) -> tuple[Dim, ...] | None:
    """Return sizes given as one tuple or one number, or None when not even their number is known."""
    entries = listed(value)
    return None if entries is None else tuple([size(entry) for entry in entries])


def listed(value: object) -> Sequence[object] | None:
    """Return the entries of an argument that takes `*size` or one tuple, or None when their number is not known.

    A lone entry of which nothing is known may itself be the tuple.
    """
    if isinstance(value, Operand):
        return [value] if value.shape == () and value.scalar else None
    if isinstance(value, _SIZES):
        return [value]
    if isinstance(value, _SEQUENCES):
        if len(value) == 1 and not isinstance(value[0], Operand):
            return listed(value[0])
        return value
    return None


def pair(value: object, length: int) -> tuple[object, ...] | None:
    """Return an argument that stands for `length` entries: one number for all of them, or a tuple."""
    if isinstance(value, _SEQUENCES):
        if len(value) == length:
            return tuple(value)
        return tuple(value) * length if len(value) == 1 else None
    return (value,) * length


def axes(value: object, rank: int) -> tuple[int, ...] | None:
    """Return the dimensions that an argument names, counted from the front, or None when they are not known."""
    if isinstance(value, int):
        index = axis(value, rank)
        return None if index is None else (index,)
    if not isinstance(value, _SEQUENCES):
        return None
    found = [axis(entry, rank) for entry in value]
    return tuple([index for index in found if index is not None]) if None not in found else None


def type_of(value: object) -> DType:
    """Return the type that a `dtype=` argument names: a name, or one of Python's number types."""
    if isinstance(value, str):
        return value if dtypes.is_name(value) else None
    if value is bool:
        return "bool"
    if value is int:
        return "int64"
    if value is float:
        return "float64"
    return "complex128" if value is complex else None


def typed(args: Args, otherwise: DType) -> DType:
    """Return the type that `dtype=` asks for, or the given one when it asks for none."""
    value = args.get("dtype")
    return otherwise if value is None else type_of(value)


def resized(shape: Shape, dim: object, length: Dim) -> Shape:
    """Return the shape with another size along one dimension; a tensor without dimensions has none to change."""
    place = None if shape is None else axis(dim, len(shape))
    return None if shape is None or place is None else replace(shape, place, length) if shape else ()
