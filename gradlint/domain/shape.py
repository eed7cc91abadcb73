"""Shapes of which some sizes are known, some are symbols, and sometimes nothing is known at all.

Every answer is one of three: yes, no, unknown (None). A certain answer holds for every size that the symbols
may stand for in a program that torch runs without a shape error; shapes that do not fit each other are
answered with unknown, for shape errors are not what gradlint reports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, eq=False, slots=True)
class Sym:
    """A size that is not known: zero or more, two or more if `many`. It equals itself only.

    Wherever the same symbol stands, torch has the same size; two symbols may or may not be the same size.
    """

    name: str | None = None
    many: bool = False

    def __repr__(self) -> str:
        return self.name or ("many" if self.many else "?")


Dim: TypeAlias = int | Sym
Shape: TypeAlias = tuple[Dim, ...] | None
"""The sizes of a tensor; None when not even their number is known."""

SCALAR: tuple[Dim, ...] = ()


def unknowns(rank: int) -> tuple[Dim, ...]:
    """Return a shape of `rank` sizes of which none is known."""
    return tuple([Sym() for _ in range(rank)])


def at_least_two(dim: Dim) -> bool:
    """Return whether a size is certainly two or more."""
    return dim >= 2 if isinstance(dim, int) else dim.many


def numel(shape: Shape) -> int | None:
    """Return how many elements a tensor of this shape has. One size of zero decides, whatever the others are."""
    if shape is None:
        return None
    total = product(shape)
    return total if isinstance(total, int) else None


def is_single(shape: Shape) -> bool | None:
    """Return whether a tensor of this shape has exactly one element; an empty tensor has not."""
    if shape is None:
        return None
    answer: bool | None = True
    for dim in shape:
        if isinstance(dim, Sym):
            if dim.many:
                return False
            answer = None
        elif dim != 1:
            return False
    return answer


def same_shape(one: Shape, other: Shape) -> bool | None:
    """Return whether two tensors have the same rank and the same sizes."""
    if one is None or other is None:
        return None
    if len(one) != len(other):
        return False
    answer: bool | None = True
    for mine, theirs in zip(one, other, strict=True):
        same = same_dim(mine, theirs)
        if same is False:
            return False
        if same is None:
            answer = None
    return answer


def is_expandable(one: Shape, other: Shape) -> bool | None:
    """Return whether a tensor can be expanded to another size, as a gradient is summed down to that of its tensor."""
    if one is None or other is None:
        return None
    if len(one) > len(other):
        return False
    pairs = zip(one, other[len(other) - len(one) :], strict=True)
    fits = [mine == 1 or same_dim(mine, theirs) for mine, theirs in pairs]
    certain = [fit is False and _certainly_many(mine) for fit, mine in zip(fits, one, strict=True)]
    return False if any(certain) else True if all(fits) else None


def _certainly_many(dim: Dim) -> bool:
    return dim != 1 if isinstance(dim, int) else dim.many


def same_dim(one: Dim, other: Dim) -> bool | None:
    """Return whether two sizes are the same; a symbol with two or more certainly differs from zero and one."""
    if one is other:
        return True
    if isinstance(one, int):
        if isinstance(other, int):
            return one == other
        return False if other.many and one < 2 else None
    if isinstance(other, int):
        return False if one.many and other < 2 else None
    return None


def broadcast(one: Shape, other: Shape) -> Shape:
    """Return the shape to which two tensors broadcast; unknown when they cannot."""
    if one is None or other is None:
        return None
    if one == other:
        return one
    if len(one) < len(other):
        one, other = other, one
    extra = len(one) - len(other)
    dims = list(one[:extra])
    for mine, theirs in zip(one[extra:], other, strict=True):
        dim = _broadcast_dim(mine, theirs)
        if dim is None:
            return None
        dims.append(dim)
    return tuple(dims)


def broadcast_all(shapes: Iterable[Shape]) -> Shape:
    """Return the shape to which several tensors broadcast; that of none is a scalar."""
    result: Shape = SCALAR
    for shape in shapes:
        result = broadcast(result, shape)
    return result


def _broadcast_dim(one: Dim, other: Dim) -> Dim | None:
    """Return one size of a broadcast, or None when the two do not broadcast.

    A size of one gives way. Beside any other number a symbol has to be that number or one, so the number
    stays; a symbol of two or more stays for the same reason beside another symbol.
    """
    if one is other or other == 1:
        return one
    if one == 1:
        return other
    if isinstance(one, int):
        if isinstance(other, int):
            return one if one == other else None
        return None if other.many and one < 2 else one
    if isinstance(other, int):
        return None if one.many and other < 2 else other
    if one.many:
        return one
    return other if other.many else Sym()


def product(dims: Iterable[Dim]) -> Dim:
    """Return the product of sizes: a number, the one symbol when all else is one, or a fresh symbol."""
    number, symbols, many = 1, [], False
    for dim in dims:
        if isinstance(dim, int):
            number *= dim
        else:
            symbols.append(dim)
    if not symbols or number == 0:
        return number
    if len(symbols) == 1 and number == 1:
        return symbols[0]
    many = all(symbol.many for symbol in symbols)
    return Sym(many=many and number > 0)


def total(dims: Iterable[Dim]) -> Dim:
    """Return the sum of sizes: a number, the one symbol when all else is zero, or a fresh symbol."""
    number, symbols, many = 0, [], False
    for dim in dims:
        if isinstance(dim, int):
            number += dim
        else:
            symbols.append(dim)
    if not symbols:
        return number
    if len(symbols) == 1 and number == 0:
        return symbols[0]
    many = number >= 0 and (number >= 2 or any(symbol.many for symbol in symbols))
    return Sym(many=many)


def quotient(dividend: Sequence[Dim], divisor: Sequence[Dim]) -> Dim:
    """Return the size that makes the product of `divisor` that of `dividend`: what `-1` stands for in a view.

    A symbol on both sides cancels, because torch refuses `-1` beside a size of zero.
    """
    over, under = product(dividend), product(divisor)
    if isinstance(over, int) and isinstance(under, int):
        return over // under if under != 0 and over % under == 0 else Sym()
    above = Counter(dividend)
    below = Counter(divisor)
    shared = above & below
    over = product((above - shared).elements())
    under = product((below - shared).elements())
    if under == 1:
        return over
    exact = isinstance(over, int) and isinstance(under, int) and under != 0 and over % under == 0
    return over // under if exact else Sym()  # type: ignore[operator]


def join(one: Shape, other: Shape) -> Shape:
    """Return a shape that holds for both: sizes that differ become symbols, different ranks leave nothing known."""
    if one is None or other is None or len(one) != len(other):
        return None
    if one == other:
        return one
    return tuple([mine if mine == theirs else _either(mine, theirs) for mine, theirs in zip(one, other, strict=True)])


def _either(one: Dim, other: Dim) -> Sym:
    return Sym(many=at_least_two(one) and at_least_two(other))


def covers(shape: Shape, sizes: Sequence[int], valuation: dict[Sym, int]) -> bool:
    """Return whether a concrete shape lies inside a partly known one.

    `valuation` says what the symbols stand for; those it does not name yet take the first size they get, so
    that a second shape judged with the same valuation has to agree.
    """
    if shape is None:
        return True
    if len(shape) != len(sizes):
        return False
    return all(_covers_dim(dim, size, valuation) for dim, size in zip(shape, sizes, strict=True))


def _covers_dim(dim: Dim, size: int, valuation: dict[Sym, int]) -> bool:
    if isinstance(dim, int):
        return dim == size
    return valuation.setdefault(dim, size) == size and (size >= 2 or not dim.many)


def axis(dim: object, rank: int) -> int | None:
    """Return the index of a dimension counted from either end, or None when it is not known or out of range.

    A tensor without dimensions takes 0 and -1, as in torch.
    """
    if not isinstance(dim, int):
        return None
    bound = max(rank, 1)
    return dim % bound if -bound <= dim < bound else None


def replace(shape: tuple[Dim, ...], index: int, *dims: Dim) -> tuple[Dim, ...]:
    """Return the shape with the size at `index` (not negative) replaced by `dims`, by nothing if there are none."""
    return (*shape[:index], *dims, *shape[index + 1 :])
