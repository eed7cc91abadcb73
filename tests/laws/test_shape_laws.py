"""Laws of partly known shapes and types: what is certain stays true when the unknown becomes known."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import (
    Shape,
    Sym,
    broadcast,
    broadcast_all,
    covers,
    is_single,
    join,
    numel,
    product,
    quotient,
    same_shape,
    total,
)

SIZES = st.sampled_from((0, 1, 1, 2, 3, 4))
KNOWN = st.lists(SIZES, max_size=4).map(tuple)
TYPES = ("bool", *dtypes.INTS, *dtypes.FLOATS, *dtypes.COMPLEXES)
LEVELS = ("tensor", "scalar", "number")


@st.composite
def forgotten(draw: st.DrawFn, count: int) -> tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]]:
    """Known shapes, the same shapes with sizes replaced by symbols, and what the symbols stand for.

    Equal sizes may have the same symbol, across shapes too. Shapes often fit each other, for that is what
    programs do, and some are forgotten altogether.
    """
    first = draw(KNOWN)
    others = st.one_of(KNOWN, st.just(first), st.just(first[1:]), st.just(tuple([1] * len(first))))
    known = [first, *draw(st.lists(others, min_size=count - 1, max_size=count - 1))]
    pool: dict[int, list[Sym]] = {}
    shapes = [_forget(draw, shape, pool) for shape in known]
    return known, shapes, {symbol: size for size, symbols in pool.items() for symbol in symbols}


def _forget(draw: st.DrawFn, shape: tuple[int, ...], pool: dict[int, list[Sym]]) -> Shape:
    if draw(st.integers(0, 9)) == 0:
        return None
    return tuple([_symbol(draw, size, pool) if draw(st.booleans()) else size for size in shape])


def _symbol(draw: st.DrawFn, size: int, pool: dict[int, list[Sym]]) -> Sym:
    symbols = pool.setdefault(size, [])
    again: bool = bool(symbols) and draw(st.booleans())
    if again:
        found: Sym = draw(st.sampled_from(symbols))
        return found
    symbols.append(Sym(many=size >= 2 and draw(st.booleans())))
    return symbols[-1]


def implies(partly: object, exactly: object) -> bool:
    """Whether a partial answer allows the exact one."""
    return partly is None or partly == exactly


@given(KNOWN, KNOWN)
def test_broadcast_is_commutative(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    assert broadcast(one, other) == broadcast(other, one)


@given(KNOWN, KNOWN, KNOWN)
def test_broadcast_is_associative(one: tuple[int, ...], other: tuple[int, ...], third: tuple[int, ...]) -> None:
    assert broadcast(broadcast(one, other), third) == broadcast(one, broadcast(other, third))


@given(KNOWN)
def test_a_scalar_gives_way_in_broadcast(shape: tuple[int, ...]) -> None:
    assert broadcast((), shape) == shape == broadcast(shape, shape)


@given(forgotten(3))
def test_broadcast_of_forgotten_shapes_covers_that_of_the_known(
    case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]],
) -> None:
    known, shapes, valuation = case
    exact = broadcast_all(known)
    if exact is not None:
        sizes = tuple([dim for dim in exact if isinstance(dim, int)])
        assert covers(broadcast_all(shapes), sizes, valuation)


@given(forgotten(2))
def test_what_is_certain_of_two_shapes_stays_true(
    case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]],
) -> None:
    (one, other), (less, lesser), _ = case
    assert implies(same_shape(less, lesser), same_shape(one, other))
    assert same_shape(less, lesser) == same_shape(lesser, less)


@given(forgotten(1))
def test_what_is_certain_of_one_shape_stays_true(
    case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]],
) -> None:
    (known,), (less,), _ = case
    assert implies(is_single(less), is_single(known))
    assert implies(numel(less), numel(known))
    assert is_single(known) == (numel(known) == 1)


@given(forgotten(1))
def test_products_and_sums_cover(
    case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]],
) -> None:
    (known,), (less,), valuation = case
    if less is not None:
        assert covers((product(less),), (numel(known) or 0,), dict(valuation))
        assert covers((total(less),), (sum(known),), dict(valuation))


@given(forgotten(2))
def test_the_missing_size_of_a_view_is_covered(
    case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]],
) -> None:
    """The size that -1 stands for, wherever torch accepts a -1: no other size may be zero."""
    (whole, part), (less, lesser), valuation = case
    elements, others = numel(whole), numel(part)
    if less is None or lesser is None or elements is None or not others or elements % others:
        return
    assert covers((quotient(less, lesser),), (elements // others,), valuation)


@given(forgotten(2))
def test_join_covers_both(case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]]) -> None:
    known, shapes, valuation = case
    for sizes in known:
        assert covers(join(*shapes), sizes, dict(valuation)), sizes


@given(forgotten(1))
def test_join_is_idempotent(case: tuple[list[tuple[int, ...]], list[Shape], dict[Sym, int]]) -> None:
    (_,), (shape,), _ = case
    assert join(shape, shape) == shape


@given(st.lists(st.tuples(st.sampled_from(TYPES), st.sampled_from(LEVELS)), min_size=1, max_size=3), st.data())
def test_promotion_of_kinds_covers_that_of_types(operands: list[tuple[str, dtypes.Level]], data: st.DataObject) -> None:
    exact = dtypes.result_type([dtypes.Ranked(*operand) for operand in operands])
    less = [dtypes.Ranked(_less(data, name, level), _lower(data, level)) for name, level in operands]
    if exact is not None:
        assert dtypes.covers(dtypes.result_type(less), exact)


def _less(data: st.DataObject, name: str, level: dtypes.Level) -> str | None:
    """The type, its kind, or nothing; a Python number of which nothing is known is no complex one (`dtypes`)."""
    kind = "float" if dtypes.is_floating(name) else "int" if name in dtypes.INTS else name
    nothing = name if level == "number" and name in dtypes.COMPLEXES else None
    return data.draw(st.sampled_from((name, name, kind, nothing)))


def _lower(data: st.DataObject, level: dtypes.Level) -> dtypes.Level:
    return "any" if level != "number" and data.draw(st.booleans()) else level


@given(st.sampled_from(TYPES), st.sampled_from(TYPES))
def test_promotion_is_commutative_and_idempotent(one: str, other: str) -> None:
    assert dtypes.promote(one, other) == dtypes.promote(other, one)
    assert dtypes.promote(one, one) == one


@given(st.sampled_from((*TYPES, "float", "int", None)), st.sampled_from((*TYPES, "float", "int", None)))
def test_join_of_types_covers_both(one: str | None, other: str | None) -> None:
    joined = dtypes.join(one, other)
    for dtype in (one, other):
        assert joined is None or (dtype is not None and dtypes.members(dtype) <= dtypes.members(joined))
