"""Element types and how torch promotes them, over partly known types.

A type is a name as torch writes it (`"float32"`), the kind `"float"` (some floating type) or `"int"` (some
integer type), or None when nothing is known. Where torch has its own names for the same type (`torch.long`),
`named` gives the one used here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import product
from typing import Literal, NamedTuple, TypeAlias

DType: TypeAlias = str | None
Level: TypeAlias = Literal["tensor", "scalar", "number", "any"]
"""What an operand is in a promotion: a tensor with dimensions, one without, a Python number, or a tensor of
either sort. A lower level changes the result only if its kind is higher."""

DEFAULT: str = "float32"

FLOATS: tuple[str, ...] = ("bfloat16", "float16", "float32", "float64")
EIGHT_BIT_FLOATS = tuple(f"float8_{layout}" for layout in ("e4m3fn", "e5m2", "e4m3fnuz", "e5m2fnuz", "e8m0fnu"))
INTS: tuple[str, ...] = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NOT_IN_NUMPY = frozenset({"bfloat16", "complex32", *EIGHT_BIT_FLOATS})
"""Types that numpy does not have: `Tensor.numpy` refuses them (measured)."""
COMPLEXES: tuple[str, ...] = ("complex32", "complex64", "complex128")

_RANK: dict[str, int] = {
    "bool": 0,
    **dict.fromkeys(INTS, 1),
    **dict.fromkeys((*FLOATS, *EIGHT_BIT_FLOATS), 2),
    **dict.fromkeys(COMPLEXES, 3),
}
_KINDS: dict[str, tuple[str, ...]] = {"float": (*FLOATS, *EIGHT_BIT_FLOATS), "int": INTS}
_REAL_NUMBERS = ("bool", "int64", "float32")
"""What a Python number may be of which nothing else is known; nobody leaves open that it is complex."""

_ALIASES: dict[str, str] = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "chalf": "complex32",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
TENSOR_TYPES: dict[str, str] = {
    "FloatTensor": "float32",
    "DoubleTensor": "float64",
    "HalfTensor": "float16",
    "BFloat16Tensor": "bfloat16",
    "CharTensor": "int8",
    "ByteTensor": "uint8",
    "ShortTensor": "int16",
    "IntTensor": "int32",
    "LongTensor": "int64",
    "BoolTensor": "bool",
}
"""The old classes of tensors; those in `torch.cuda` have the same names."""
_REAL: dict[str, str] = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_COMPLEX: dict[str, str] = {
    "float16": "complex32",
    "bfloat16": "complex64",
    "float32": "complex64",
    "float64": "complex128",
}
_WIDE_UNSIGNED: tuple[str, ...] = ("uint16", "uint32", "uint64")
_WIDTH: dict[str, int] = {name: int(name.lstrip("uint")) for name in INTS}


class Ranked(NamedTuple):
    """One operand of a promotion: its type and what it is."""

    dtype: DType
    level: Level


def named(name: str) -> DType:
    """Return the type that `torch.<name>` is, or None if that is no type we know: `named("long")` is `"int64"`."""
    name = _ALIASES.get(name, name)
    return name if name in _RANK else None


_OF_PYTHON = {
    "builtins.bool": "bool",
    "builtins.int": "int64",
    "builtins.float": "float64",
    "builtins.complex": "complex128",
}
"""The types that torch takes a type of Python's for, where it asks for a dtype."""


def asked(path: str) -> DType:
    """Return the type that a call is asked for: `asked("torch.long")` and `asked("builtins.int")` are `"int64"`."""
    return _OF_PYTHON.get(path) or named(path.removeprefix("torch."))


def is_name(name: str) -> bool:
    """Return whether a string is a type or kind as this module writes it."""
    return name in _RANK or name in _KINDS


def of_number(value: bool | int | float | complex) -> str:
    """Return the type that `torch.tensor(value)` has."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    return DEFAULT if isinstance(value, float) else "complex64"


def is_floating(dtype: DType) -> bool | None:
    """Return whether a type is a floating one; complex types are not, as in `Tensor.is_floating_point`."""
    if dtype is None:
        return None
    return dtype == "float" or _RANK.get(dtype) == 2


def is_complex(dtype: DType) -> bool | None:
    """Return whether a type is a complex one."""
    return None if dtype is None else _RANK.get(dtype) == 3


def is_integral(dtype: DType) -> bool | None:
    """Return whether a type is an integer one or bool."""
    if dtype is None:
        return None
    return dtype == "int" or _RANK.get(dtype, 2) < 2


def can_require_grad(dtype: DType) -> bool | None:
    """Return whether a tensor of this type may require a gradient: floating and complex ones may."""
    integral = is_integral(dtype)
    return None if integral is None else not integral


def holds(own: DType, written: DType) -> bool | None:
    """Return whether a tensor of a type takes the result of an operation in place, as `torch.can_cast` says.

    >>> holds("int64", "float32"), holds("float16", "float64"), holds("int8", "int64")
    (False, True, True)
    """
    if own is None or written is None:
        return None
    answers = {_RANK[theirs] <= _RANK[mine] for mine in members(own) for theirs in members(written)}
    return answers.pop() if len(answers) == 1 else None


def same_dtype(one: DType, other: DType) -> bool | None:
    """Return whether two types are the same type."""
    if one is None or other is None:
        return None
    mine, theirs = members(one), members(other)
    if not mine & theirs:
        return False
    return True if len(mine) == len(theirs) == 1 else None


@cache
def members(dtype: str) -> frozenset[str]:
    """Return the types that a known type or a kind may be."""
    return frozenset(_KINDS.get(dtype, (dtype,)))


def collapse(dtypes: Iterable[str | None]) -> DType:
    """Return the narrowest type or kind that holds all the given ones; None when there is none."""
    found = set(dtypes)
    if len(found) == 1:
        return found.pop()
    for kind, names in _KINDS.items():
        if found and found <= {kind, *names}:
            return kind
    return None


def join(one: DType, other: DType) -> DType:
    """Return a type that holds for both."""
    return one if one == other else collapse((one, other))


def covers(dtype: DType, concrete: str) -> bool:
    """Return whether a concrete type is among those that a partly known one may be."""
    return dtype is None or concrete in members(dtype)


@cache
def to_float(dtype: DType) -> DType:
    """Return the type of an operation that computes in floating point: integers become the default type."""
    return _map(dtype, _float_of)


@cache
def to_real(dtype: DType) -> DType:
    """Return the type of the real part: that of `abs`, `norm` and `real`."""
    return _map(dtype, lambda name: _REAL.get(name, name))


@cache
def to_sum(dtype: DType) -> DType:
    """Return the type in which torch sums: int64 for integers and bool, else the type itself."""
    return _map(dtype, lambda name: "int64" if _RANK[name] < 2 else name)


@cache
def to_complex(dtype: DType) -> DType:
    """Return the complex type over a floating one; integers go by the default type."""
    return _map(dtype, lambda name: _COMPLEX.get(_float_of(name), name))


def _float_of(name: str) -> str:
    return DEFAULT if _RANK[name] < 2 else name


def _map(dtype: DType, change: Callable[[str], str]) -> DType:
    return None if dtype is None else collapse([change(name) for name in members(dtype) if name in _RANK])


def promote(*dtypes: DType) -> DType:
    """Return the type to which tensors with dimensions promote, as `torch.promote_types` says."""
    return result_type([Ranked(dtype, "tensor") for dtype in dtypes])


def result_type(operands: Iterable[Ranked]) -> DType:
    """Return the type to which operands of several levels promote, as `torch.result_type` says; None for none."""
    return _promoted(frozenset(operands))


@lru_cache(maxsize=4096)
def _promoted(operands: frozenset[Ranked]) -> DType:
    """Try every type and level that the operands may have, and keep what all of them agree on."""
    if len(operands) == 1:
        (only,) = operands
        return only.dtype if only.level != "number" else _map(only.dtype, _number_type)
    choices: list[list[Ranked]] = []
    for operand in operands:
        if operand.dtype is None and operand.level != "number":
            return None
        levels: tuple[Level, ...] = ("tensor", "scalar") if operand.level == "any" else (operand.level,)
        names = _REAL_NUMBERS if operand.dtype is None else members(operand.dtype)
        choices.append([Ranked(name, level) for name in names for level in levels])
    # A choice that torch refuses to promote is none that a running program can have taken.
    return collapse({one for choice in product(*choices) if (one := _promote_known(choice)) is not None})


def _promote_known(operands: Iterable[Ranked]) -> DType:
    """Torch's `result_type`: within a level by type, between levels only a higher kind counts."""
    best: dict[Level, str] = {}
    for name, level in operands:
        if name is None:
            return None
        if level == "number":
            name = _number_type(name)
        promoted = _promote_pair(best.get(level, name), name)
        if promoted is None:
            return None
        best[level] = promoted
    lower = _combine(best.get("scalar"), best.get("number"))
    return _combine(best.get("tensor"), lower)


def _number_type(name: str) -> str:
    """A Python number stands for the default type of its kind, whatever its own precision."""
    return ("bool", "int64", DEFAULT, "complex64")[_RANK[name]]


def _combine(higher: DType, lower: DType) -> DType:
    if higher is None or lower is None:
        return higher or lower
    kind = _RANK[higher]
    if kind == 3:
        return higher
    if kind == 2:
        return _COMPLEX.get(higher) if _RANK[lower] == 3 else higher
    if kind == 0 or _RANK[lower] >= 2:
        return _promote_pair(higher, lower)
    return higher


@cache
def _promote_pair(one: str, other: str) -> DType:
    """Torch's table of promotions; None where torch refuses."""
    if one == other:
        return one
    if _RANK[one] < _RANK[other]:
        one, other = other, one
    kinds = (_RANK[one], _RANK[other])
    if one in EIGHT_BIT_FLOATS or other in EIGHT_BIT_FLOATS or (other in _WIDE_UNSIGNED and kinds[0] != 2):
        return None
    if kinds == (2, 2):
        return "float64" if "float64" in (one, other) else "float32"
    if kinds == (3, 3):
        return max(one, other, key=COMPLEXES.index)
    if kinds == (3, 2):
        return max(one, _COMPLEX[other], key=COMPLEXES.index)
    if kinds == (1, 1):
        return _promote_ints(one, other)
    return None if one in _WIDE_UNSIGNED else one


def _promote_ints(one: str, other: str) -> DType:
    """Signed types promote to the wider one; an unsigned byte beside int8 needs int16."""
    unsigned = [name for name in (one, other) if name.startswith("u")]
    if not unsigned:
        return max(one, other, key=_WIDTH.__getitem__)
    if unsigned != ["uint8"]:
        return None
    signed = other if one == "uint8" else one
    return "int16" if signed == "int8" else signed
