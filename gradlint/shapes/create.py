"""Sizes and types of tensors made from sizes, numbers and lists."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape, Sym
from gradlint.shapes.arguments import given, size, sizes, tensor, typed
from gradlint.shapes.operand import Args, Operand, Result, as_operand
from gradlint.shapes.rule import Rule, rule


@rule("zeros", "ones", "empty", "rand", "randn", "empty_strided", "empty_permuted", "empty_quantized")
def _filled(args: Args) -> Result:
    return Operand(sizes(args.get("size")), typed(args, dtypes.DEFAULT))


@rule("full")
def _full(args: Args) -> Result:
    value = as_operand(args.get("fill_value"))
    number = _number_type(value.dtype) if value.scalar else value.dtype
    return Operand(sizes(args.get("size")), typed(args, number))


def _number_type(dtype: DType) -> DType:
    """Return the type of a Python number of unknown value: the default one of its kind."""
    return dtypes.result_type([dtypes.Ranked(dtype, "number")])


@rule("randint")
def _randint(args: Args) -> Result:
    return Operand(sizes(args.get("size")), typed(args, "int64"))


@rule("new_zeros", "new_ones", "new_empty", "new_full", "new_empty_strided")
def _new(args: Args) -> Result:
    return Operand(sizes(args.get("size")), typed(args, tensor(args).dtype))


@rule("eye")
def _eye(args: Args) -> Result:
    rows = size(args.get("n"))
    columns = rows if args.get("m") is None else size(args["m"])
    return Operand((rows, columns), typed(args, dtypes.DEFAULT))


@rule("arange")
def _arange(args: Args) -> Result:
    """Return int64 for integers, and the default type where one bound is floating."""
    start, end, step = args.get("start", 0), args.get("end"), args.get("step", 1)
    if "end" not in args:
        start, end = 0, start
    kinds = {as_operand(value).dtype for value in (start, end, step)}
    dtype = None if None in kinds else "int64" if kinds <= {*dtypes.INTS, "int", "bool"} else dtypes.DEFAULT
    dtype = typed(args, dtype)
    if dtype != "int64":
        return Operand((_count(start, end, step, exact=dtypes.is_floating(dtype) is True),), dtype)
    # For an integer type torch cuts the bounds to integers first.
    cut = [int(one) if isinstance(one, float) and math.isfinite(one) else one for one in (start, end, step)]
    return Operand((_count(*cut, exact=True),), dtype)


def _count(start: object, end: object, step: object, *, exact: bool) -> Dim:
    """Return how many steps lead to the end, but not into it, counted in double precision as in torch."""
    if start == 0 and step == 1 and isinstance(end, Sym):
        return end
    bounds = [value for value in (start, end, step) if isinstance(value, int | float)]
    whole = all(isinstance(value, int) for value in bounds)
    if len(bounds) < 3 or not bounds[2] or not (whole or exact):
        return Sym()
    with suppress(OverflowError):  # No double is as large.
        if all(map(math.isfinite, bounds)):
            count = math.ceil((bounds[1] - bounds[0]) / bounds[2])
            return count if count >= 0 else Sym()
    return Sym()


@rule("linspace", "logspace")
def _linspace(args: Args) -> Result:
    complicated = any(dtypes.is_complex(as_operand(args.get(name)).dtype) is not False for name in ("start", "end"))
    return Operand((size(args.get("steps", 100)),), typed(args, None if complicated else dtypes.DEFAULT))


@rule("scalar_tensor")
def _scalar_tensor(args: Args) -> Result:
    return Operand((), typed(args, dtypes.DEFAULT))


def vector(length: str, dtype: DType) -> Rule:
    """Return the rule of what makes a vector as long as one of its arguments says."""
    return lambda args: Operand((size(args.get(length)),), typed(args, dtype))


rule("randperm")(vector("n", "int64"))
rule("hann_window", "hamming_window", "blackman_window", "bartlett_window", "kaiser_window")(
    vector("window_length", dtypes.DEFAULT)
)
rule("poisson")(tensor)
rule("from_numpy")(lambda args: tensor(args, "ndarray", "data"))


@rule("tensor", "as_tensor", "asarray", "new_tensor")
def _tensor(args: Args) -> Result:
    """Make a tensor of numbers, nested lists of numbers, and tensors, which inside of lists count as numbers."""
    data = given(args, "data", "obj")
    return Operand(nested_shape(data), typed(args, nested_type(data)))


def nested_shape(data: object) -> Shape:
    """Return the shape of `torch.tensor(data)`."""
    if isinstance(data, Operand):
        return data.shape
    if isinstance(data, bool | int | float | complex | Sym):
        return ()
    if not isinstance(data, list | tuple):
        return None
    if not data:
        return (0,)
    inner = _inner_shape(data)
    return None if inner is None else (len(data), *inner)


def _inner_shape(data: Sequence[object]) -> Shape:
    """Return the shape of the entries of a list: they all have the same, so the first one that tells is enough.

    A tensor in a list has to have one element, which is taken as a number; an array may have more.
    """
    if any(isinstance(item, Operand) and item.shape not in (None, ()) for item in data):
        return None
    for item in data:
        if isinstance(item, Operand):
            if item.scalar or item.dtype is not None:
                return () if item.shape == () else None
            continue
        shape = nested_shape(item)
        if shape is not None:
            return shape
    return None


def nested_type(data: object) -> DType:
    """Return the type of `torch.tensor(data)`: that to which all its numbers are promoted."""
    if isinstance(data, Operand):
        return _number_type(data.dtype) if data.scalar else data.dtype
    if isinstance(data, bool | int | float | complex):
        return dtypes.of_number(data)
    if isinstance(data, Sym):
        return "int64"
    if not isinstance(data, list | tuple):
        return None
    if not data:
        return dtypes.DEFAULT
    found = {nested_type(item) for item in data}
    return None if None in found else dtypes.promote(*found)


@rule("normal")
def _normal(args: Args) -> Result:
    """Return a tensor of the size asked for, or of the means and deviations, which are broadcast."""
    if args.get("size") is not None:
        return Operand(sizes(args["size"]), typed(args, dtypes.DEFAULT))
    mean, deviation = as_operand(args.get("mean")), as_operand(args.get("std", 1.0))
    if deviation.scalar:
        return Operand(mean.shape, mean.dtype)
    return Operand(deviation.shape, deviation.dtype) if mean.scalar else Operand(None, mean.dtype)


@rule("tril_indices")
def _tril_indices(args: Args) -> Result:
    """Count the columns of the lower triangle: row r has those up to r + offset."""
    count = _lower_triangle(args.get("row"), args.get("col"), args.get("offset", 0))
    return Operand((2, Sym() if count is None else count), typed(args, "int64"))


@rule("triu_indices")
def _triu_indices(args: Args) -> Result:
    """Count what is not in the lower triangle one diagonal below."""
    rows, columns, offset = args.get("row"), args.get("col"), args.get("offset", 0)
    below = _lower_triangle(rows, columns, offset - 1 if isinstance(offset, int) else None)
    known = below is not None and isinstance(rows, int) and isinstance(columns, int)
    count: Dim = rows * columns - below if known else Sym()  # type: ignore[operator]
    return Operand((2, count), typed(args, "int64"))


def _lower_triangle(rows: object, columns: object, offset: object) -> int | None:
    if not isinstance(rows, int) or not isinstance(columns, int) or not isinstance(offset, int):
        return None
    # Rows before `first` have nothing, rows from `full` on all columns; between them each has one more.
    first, full = max(-offset, 0), max(columns - offset, 0)
    first, full = min(first, rows), min(full, rows)
    between = range(first + offset + 1, full + offset + 1)
    rising = (between[0] + between[-1]) * len(between) // 2 if between else 0
    return rising + (rows - max(full, first)) * columns


@rule("vander")
def _vander(args: Args) -> Result:
    self = tensor(args, "x", "input")
    columns = args.get("N")
    if not self.shape:
        return Operand()
    return Operand((*self.shape, self.shape[-1] if columns is None else size(columns)), dtypes.to_sum(self.dtype))
