"""What size rules compute with: tensors and numbers of which the size and type are known as far as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from gradlint.domain import dtype as dtypes
from gradlint.domain.dtype import DType, Ranked
from gradlint.domain.shape import Shape, Sym, broadcast_all, replace


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor as far as its size and type are known; with `scalar`, a Python number of unknown value."""

    shape: Shape = None
    dtype: DType = None
    scalar: bool = False


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple or list of results; `items` is None when their number is not known, `each` is then any of them.

    `fields` are the names of a named tuple of torch, in the order of the items. `ragged` is the dimension in which
    items of an unknown number differ in size: the symbol that `each` has there is another size in every item.
    """

    items: tuple[Operand | Several, ...] | None
    each: Operand = Operand()
    fields: tuple[str, ...] = ()
    ragged: int | None = None

    def item(self, index: int) -> Result:
        """Return one of the results; out of range, nothing is known. A ragged size is a fresh symbol each time."""
        if self.items is not None:
            return self.items[index] if -len(self.items) <= index < len(self.items) else NOTHING
        if self.ragged is None or self.each.shape is None:
            return self.each
        return Operand(replace(self.each.shape, self.ragged, Sym()), self.each.dtype)


Result: TypeAlias = Operand | Several
Args: TypeAlias = Mapping[str, object]
"""The arguments of one call, bound by torch's parameter names."""


class Unknown:
    """The type of `UNKNOWN`, the argument of which nothing is known, not even whether it is a tensor."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
NOTHING: Final = Operand()
"""The result of which nothing is known."""

# A tuple, for it is tested faster than a union and this test stands on the hot path.
_NUMBERS: Final = (bool, int, float, complex)


def as_operand(value: object) -> Operand:
    """Return a value as an operand of arithmetic: a tensor, a Python number, or something unknown."""
    if isinstance(value, Operand):
        return value
    if isinstance(value, _NUMBERS):
        return Operand((), dtypes.of_number(value), scalar=True)
    if isinstance(value, Sym):
        return Operand((), "int64", scalar=True)
    return NOTHING


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
