"""Arrays of numpy: what is known of their size and type, which a tensor made of one takes over.

An array is an `Unknown` of the kind "array"; its key is ("array", sizes, dtype, place) where something is known, with
None for a size, for all sizes, or for a type that is not.
"""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.shape import Shape, Sym, broadcast_all
from gradlint.domain.value import Args, Unknown, Value

Sizes: TypeAlias = "tuple[int | None, ...] | None"

_NUMBERS = (bool, int, float, complex)
_ARITHMETIC = frozenset({"+", "-", "*", "/", "**"})
_BROADCASTING = _ARITHMETIC | {"//", "%", "<", "<=", ">", ">=", "==", "!="}

_MOVED = ("reshape", "transpose", "squeeze", "ravel", "flatten", "repeat", "clip", "cumsum")
"""Methods that give an array of the same type and another size."""

WRITING = frozenset({"fill", "partition", "put", "sort"})
"""Methods that write to the array itself."""

NUMPY_TYPES = {f"numpy.{name}": name for name in ("float32", "float64", "int64", "int32", "float16")}


def is_number(value: Value) -> bool:
    """Return whether a value is a Python number."""
    return isinstance(value, _NUMBERS) or (isinstance(value, Unknown) and value.kind in ("number", "int", "bool"))


def joint_kind(left: Value, right: Value) -> str | None:
    """Return the kind of a result: an array beside an array or a number gives one; not beside something unknown."""
    arrays = [isinstance(value, Unknown) and value.kind == "array" for value in (left, right)]
    certain = all(is_array or is_number(value) for is_array, value in zip(arrays, (left, right), strict=True))
    return "array" if any(arrays) and certain else None


def arithmetic(op: str, left: Value, right: Value) -> tuple[Sizes, str | None] | None:
    """Return sizes and type of an operator on arrays and numbers; None where nothing is known of them.

    Arrays of one floating type keep it, also beside numbers; arrays broadcast as tensors do.
    """
    arrays = [v for v in (left, right) if isinstance(v, Unknown) and v.kind == "array"]
    dtypes = {dtype_of(array) for array in arrays}
    (dtype,) = dtypes if len(dtypes) == 1 else (None,)
    kept = dtype if op in _ARITHMETIC and dtype in ("float32", "float64") else None
    sizes = _broadcast([_shape(array) for array in arrays]) if op in _BROADCASTING else None
    return None if sizes is None and kept is None else (sizes, kept)


def dtype_of(array: Unknown) -> str | None:
    """Return the type of the numbers in an array."""
    return None if array.key is None or array.key[0] != "array" else array.key[2]  # type: ignore[return-value]


def _shape(array: Unknown) -> Shape:
    """Return the size of an array as that of a tensor."""
    sizes = None if array.key is None or array.key[0] != "array" else array.key[1]
    return tuple([size if isinstance(size, (int, Sym)) else Sym() for size in sizes]) if type(sizes) is tuple else None


def _broadcast(shapes: list[Shape]) -> Sizes:
    sizes = broadcast_all(shapes)
    return None if sizes is None else tuple([size if isinstance(size, int) else None for size in sizes])


def array_method(array: Unknown, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Call a method of a numpy array: it gives an array again, computed from the first."""
    if name == "item":
        return Unknown("number", array.origin, None, node)
    if array.key is None or array.key[0] != "array" or name not in ("astype", "copy", *_MOVED):
        return Unknown("array", array.origin, None, node)
    dtype = array.key[2]
    if name in _MOVED:
        return Unknown("array", array.origin, ("array", None, dtype, node), node)
    if name == "astype":
        wanted = args.get(0, "dtype")
        dtype = wanted if isinstance(wanted, str) else NUMPY_TYPES.get(getattr(wanted, "path", ""))
    return Unknown("array", array.origin, ("array", array.key[1], dtype, node), node)
