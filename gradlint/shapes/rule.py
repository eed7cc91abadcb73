"""What a size rule is: operands in, operands out, and the readers for partly known arguments.

A rule is a pure function of the arguments of one call, bound by torch's parameter names (`self` and `input`
are the same). It raises nothing: what it cannot tell is None in its answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType, Ranked
from gradlint.domain.shape import Dim, Shape, Sym, axis, broadcast_all, replace
from gradlint.facts.aliases import canonical


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor as far as its size and type are known; with `scalar`, a Python number of unknown value."""

    shape: Shape = None
    dtype: DType = None
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or list of results; `items` is None when their number is not known, `each` is then any of them.

    `fields` are the names of a named tuple of torch, in the order of the items. `ragged` is the dimension in
    which items of an unknown number differ in size: the symbol that `each` has there is another size in every
    item.
    """

    items: tuple[Operand | Several, ...] | None
    each: Operand = Operand()
    fields: tuple[str, ...] = ()
    ragged: int | None = None


Result: TypeAlias = Operand | Several
Args: TypeAlias = Mapping[str, object]
Rule: TypeAlias = Callable[[Args], Result]
TypeChange: TypeAlias = Callable[[DType], DType]
ShapeRule: TypeAlias = Callable[[Args, tuple[Dim, ...]], Shape]


class Unknown:
    """The type of `UNKNOWN`, the argument of which nothing is known, not even whether it is a tensor."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
NOTHING: Final = Operand()
"""The result of which nothing is known."""

# Tuples, for they are tested faster than unions and these tests stand on the hot path.
_NUMBERS: Final = (bool, int, float, complex)
_SEQUENCES: Final = (tuple, list)
_SIZES: Final = (int, Sym)

_WORKED_UPON: Final = ("input", "self", "A", "x", "tensor")
"""What torch calls the first argument of functions, methods and linear algebra."""

RULES: dict[str, Rule] = {}
"""The rule of each operation by its canonical name: `matmul`, `conv2d`, `nn.functional.unfold`."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule of the named operations; an operation has one rule."""

    def register(function: Rule) -> Rule:
        for name in map(canonical, names):
            if name in RULES:
                raise ValueError(f"two size rules for {name}")
            RULES[name] = function
        return function

    return register


def same(dtype: DType) -> DType:
    """Return the type itself: what becomes of it in an operation that keeps it."""
    return dtype


def always(dtype: DType) -> TypeChange:
    """Return what becomes of a type in an operation with results of one certain type."""
    return lambda _: dtype


def shaped(*names: str, dtype: TypeChange = same) -> Callable[[ShapeRule], ShapeRule]:
    """Register what gives the shape of the result from a known shape of the input; `dtype` maps the input's type."""

    def register(function: ShapeRule) -> ShapeRule:
        def answer(args: Args) -> Result:
            self = tensor(args)
            return Operand(None if self.shape is None else function(args, self.shape), dtype(self.dtype))

        rule(*names)(answer)
        return function

    return register


def keeping(dtype: TypeChange, *names: str) -> Rule:
    """Return the rule of an operation that keeps the size of its input, the first of the named arguments."""

    def answer(args: Args) -> Result:
        self = tensor(args, *names)
        return Operand(self.shape, dtype(self.dtype))

    return answer


def as_operand(value: object) -> Operand:
    """Return a value as an operand of arithmetic: a tensor, a Python number, or something unknown."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, _NUMBERS):
        return Operand((), dtypes.of_number(value), scalar=True)
    if isinstance(value, Sym):
        return Operand((), "int64", scalar=True)
    return NOTHING


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


def resized(shape: Shape, dim: object, length: Dim) -> Shape:
    """Return the shape with another size along one dimension; a tensor without dimensions has none to change."""
    place = None if shape is None else axis(dim, len(shape))
    return None if shape is None or place is None else replace(shape, place, length) if shape else ()


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


def ranked(operand: Operand) -> Ranked:
    """Return an operand as promotion sees it."""
    if operand.scalar:
        return Ranked(operand.dtype, "number")
    if operand.shape is None:
        return Ranked(operand.dtype, "any")
    return Ranked(operand.dtype, "tensor" if operand.shape else "scalar")


def promoted(operands: Sequence[Operand]) -> DType:
    """Return the type to which operands are promoted."""
    first = operands[0].dtype
    if first in ("float32", "float64") and all(operand.dtype == first for operand in operands):
        return dtypes.DEFAULT if all(operand.scalar for operand in operands) else first
    return dtypes.result_type([ranked(operand) for operand in operands])


def combined(operands: Sequence[Operand]) -> Operand:
    """Return operands broadcast together and promoted: the result of elementwise arithmetic."""
    return Operand(broadcast_all([operand.shape for operand in operands]), promoted(operands))
