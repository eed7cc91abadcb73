"""The value of an expression over what is partly known: `OPEN` where that does not decide it.

The expressions are the tests before which torch's own functions raise (`facts.guards`).
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias, TypeGuard

from gradlint.domain.dtype import DType
from gradlint.domain.shape import Shape


class Open:
    """The type of `OPEN`: a value of which nothing is known."""

    def __repr__(self) -> str:
        return "OPEN"


OPEN: Final = Open()


class Shaped(NamedTuple):
    """What is known of a tensor: sizes that are no numbers are open, and so is an element type of None.

    `bounds`: its least and its greatest element, where these are known.
    """

    shape: Shape
    dtype: DType = None
    bounds: tuple[float, float] | None = None


class Listed(tuple[object, ...]):
    """The items of a list."""


@dataclass(frozen=True, eq=False)
class Described:
    """What is known of an object of torch: the names of its classes, and some of its attributes.

    Of a dict, an attribute has the keys. Without classes it is an object that is not None, of whatever class.
    """

    classes: frozenset[str]
    attributes: Mapping[str, object] = field(default_factory=dict)


Known: TypeAlias = object
"""A constant, a tuple or list of what is known, a `Shaped`, a `Described`, or `OPEN`."""


def value_of(test: ast.expr, known: Mapping[str, Known]) -> Known:
    """Return the value of an expression over what is known; `OPEN` where that does not decide it.

    >>> def asked(test, **known): return value_of(ast.parse(test, mode="eval").body, known)
    >>> asked("not 0 <= p <= 1 or q", p=2, q=OPEN), asked("p < q", p=1, q=OPEN)
    (True, OPEN)
    >>> asked("any(n < 1 for n in p)", p=(2, 0))
    True
    """
    try:
        found = _VALUES.get(type(test), _open)(test, known)
    except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError, OverflowError, AttributeError):
        return OPEN  # Torch raises here, too, but says something else.
    return found


def text_of(message: ast.expr, known: Mapping[str, Known]) -> str:
    """Return the text of an error, with what is known of the call in it, or else the expression that torch has there.

    >>> text_of(ast.parse("f'{a} for {b.c}, {type(d).__name__}'", mode="eval").body, {"a": 2})
    '2 for b.c, ...'
    """
    if not isinstance(message, ast.JoinedStr):
        found = value_of(message, known)
        return found if isinstance(found, str) else ""
    parts = []
    for part in message.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            found = value_of(part.value, known)
            written = ast.unparse(part.value)
            parts.append(str(found) if _is_whole(found) else "..." if "__" in written else written)
    return "".join(parts)


def _open(test: ast.expr, known: Mapping[str, Known]) -> Known:
    return OPEN


def _name(test: ast.Name, known: Mapping[str, Known]) -> Known:
    return known.get(test.id, OPEN)


def _items(test: ast.Tuple | ast.List | ast.Set, known: Mapping[str, Known]) -> Known:
    return _as_in(test, [value_of(one, known) for one in test.elts])


def _as_in(test: ast.expr, items: Iterable[Known]) -> tuple[Known, ...]:
    """Return items as a list or as a tuple, as the expression makes them."""
    return (Listed if isinstance(test, (ast.List, ast.ListComp)) else tuple)(items)


def _logic(test: ast.BoolOp, known: Mapping[str, Known]) -> Known:
    """`and`, `or` as tests: one value may decide, whatever the others are."""
    decides = isinstance(test.op, ast.Or)
    answers = [_truth(value_of(one, known)) for one in test.values]
    if any(answer is decides for answer in answers):
        return decides
    return OPEN if any(answer is None for answer in answers) else not decides


def _truth(value: Known) -> bool | None:
    return None if value is OPEN or isinstance(value, (Shaped, Described)) else bool(value)


def _unary(test: ast.UnaryOp, known: Mapping[str, Known]) -> Known:
    value = value_of(test.operand, known)
    if isinstance(test.op, ast.Not):
        truth = _truth(value)
        return OPEN if truth is None else not truth
    return -value if isinstance(test.op, ast.USub) and isinstance(value, (int, float)) else OPEN


def _binary(test: ast.BinOp, known: Mapping[str, Known]) -> Known:
    operation = _ARITHMETIC.get(type(test.op))
    one, other = value_of(test.left, known), value_of(test.right, known)
    if operation is None or not isinstance(one, (int, float)) or not isinstance(other, (int, float)):
        return OPEN
    return operation(one, other)


def _compare(test: ast.Compare, known: Mapping[str, Known]) -> Known:
    left = value_of(test.left, known)
    answer: Known = True
    for how, right in zip(test.ops, test.comparators, strict=True):
        other = value_of(right, known)
        found = _compared(how, left, other)
        if found is False:
            return False
        answer = OPEN if found is OPEN else answer
        left = other
    return answer


def _compared(how: ast.cmpop, one: Known, other: Known) -> Known:
    if isinstance(how, (ast.Is, ast.IsNot)) and other is None and one is not OPEN:
        return (one is None) is isinstance(how, ast.Is)
    if isinstance(how, (ast.Eq, ast.NotEq)) and _are_unlike(one, other):
        return isinstance(how, ast.NotEq)
    if not _is_whole(one) or not _is_whole(other):
        return OPEN
    return _COMPARED[type(how)](one, other) if type(how) in _COMPARED else OPEN


def _are_unlike(one: Known, other: Known) -> bool:
    """Return whether two tuples differ in their length, or in items that are known."""
    if type(one) is not tuple or type(other) is not tuple:
        return False
    pairs = zip(one, other, strict=False)
    return len(one) != len(other) or any(_is_whole(a) and _is_whole(b) and a != b for a, b in pairs)


def _is_whole(value: Known) -> bool:
    """Return whether a value is known with all its parts, and is no tensor or other object of torch."""
    if isinstance(value, tuple):
        return not isinstance(value, Shaped) and all(map(_is_whole, value))
    return value is not OPEN and not isinstance(value, Described)


def _item(test: ast.Subscript, known: Mapping[str, Known]) -> Known:
    value = value_of(test.value, known)
    if not isinstance(value, tuple) or isinstance(value, Shaped):
        return OPEN
    if isinstance(test.slice, ast.Slice):
        bounds = [one and value_of(one, known) for one in (test.slice.lower, test.slice.upper)]
        known_bounds = [one for one in bounds if one is None or isinstance(one, int)]
        return _as_was(value, value[slice(*known_bounds)]) if len(known_bounds) == 2 else OPEN
    index = value_of(test.slice, known)
    return value[index] if isinstance(index, int) else OPEN


def _as_was(value: tuple[Known, ...], part: tuple[Known, ...]) -> tuple[Known, ...]:
    """Return a part of a list as a list."""
    return Listed(part) if isinstance(value, Listed) else part


def _either(test: ast.IfExp, known: Mapping[str, Known]) -> Known:
    truth = _truth(value_of(test.test, known))
    if truth is None:
        one, other = value_of(test.body, known), value_of(test.orelse, known)
        return one if _is_whole(one) and one == other else OPEN
    return value_of(test.body if truth else test.orelse, known)


def _call(test: ast.Call, known: Mapping[str, Known]) -> Known:
    if test.keywords:
        return OPEN
    if isinstance(test.func, ast.Name):
        return _function(test.func.id, test.args, known)
    if not isinstance(test.func, ast.Attribute):
        return OPEN
    value, name = value_of(test.func.value, known), test.func.attr
    if isinstance(value, Shaped) and name in ("min", "max") and not test.args:
        return OPEN if value.bounds is None else value.bounds[name == "max"]
    if not isinstance(value, Shaped) or value.shape is None:
        return OPEN
    if name in ("dim", "ndimension"):
        return len(value.shape)
    if name == "size":
        sizes = tuple([size if isinstance(size, int) else OPEN for size in value.shape])
        index = value_of(test.args[0], known) if test.args else None
        return sizes if not test.args else sizes[index] if isinstance(index, int) else OPEN
    if name == "numel" and all(isinstance(size, int) for size in value.shape):
        count = 1
        for size in value.shape:
            count *= size if isinstance(size, int) else 0
        return count
    return OPEN


def _attribute(test: ast.Attribute, known: Mapping[str, Known]) -> Known:
    value = value_of(test.value, known)
    if isinstance(value, Described):
        return value.attributes.get(test.attr, OPEN)
    if isinstance(value, Shaped) and test.attr == "dtype":
        return OPEN if value.dtype is None else value.dtype
    if not isinstance(value, Shaped) or value.shape is None:
        return OPEN
    if test.attr == "ndim":
        return len(value.shape)
    return tuple([size if isinstance(size, int) else OPEN for size in value.shape]) if test.attr == "shape" else OPEN


def _function(name: str, given: list[ast.expr], known: Mapping[str, Known]) -> Known:
    if name == "isinstance" and len(given) == 2:
        value = value_of(given[0], known)
        return OPEN if value is OPEN else _is_instance(value, given[1])
    if name in ("any", "all") and len(given) == 1:
        items = _several(given[0], known)
        return OPEN if items is None else _any_or_all(name, items)
    values = [value_of(one, known) for one in given]
    if name == "len" and isinstance(values[0], tuple) and not isinstance(values[0], Shaped):
        return len(values[0])
    ready = _is_tuple if name in _OF_ITEMS else _is_whole
    return _BUILTINS[name](*values) if name in _BUILTINS and all(map(ready, values)) else OPEN


def _is_tuple(value: Known) -> TypeGuard[tuple[Known, ...]]:
    """Return whether a value is a tuple or list, whose items may be open."""
    return isinstance(value, tuple) and not isinstance(value, Shaped)


def _any_or_all(name: str, items: tuple[Known, ...]) -> Known:
    answers = [_truth(one) for one in items]
    decides = name == "any"
    if decides in answers:
        return decides
    return OPEN if None in answers else not decides


def _several(given: ast.expr, known: Mapping[str, Known]) -> tuple[Known, ...] | None:
    """Return the items of a tuple, list, or comprehension over one."""
    if not isinstance(given, (ast.GeneratorExp, ast.ListComp)):
        value = value_of(given, known)
        return value if _is_tuple(value) else None
    source = given.generators[0]
    items = _several(source.iter, known)
    if items is None or len(given.generators) > 1:
        return None
    found: list[Known] = []
    for item in items:
        inner = {**known, **dict(_bound(source.target, item))}
        kept = [_truth(value_of(test, inner)) for test in source.ifs]
        if None in kept:
            return None
        if False not in kept:
            found.append(value_of(given.elt, inner))
    return tuple(found)


def _bound(target: ast.expr, item: Known) -> Iterator[tuple[str, Known]]:
    """Yield the variables of a loop, and what they hold for one item."""
    if isinstance(target, ast.Name):
        yield target.id, item
    elif isinstance(target, ast.Tuple):
        parts = item if isinstance(item, tuple) and len(item) == len(target.elts) else (OPEN,) * len(target.elts)
        for one, part in zip(target.elts, parts, strict=True):
            yield from _bound(one, part)


def _comprehension(test: ast.expr, known: Mapping[str, Known]) -> Known:
    found = _several(test, known)
    return OPEN if found is None else _as_in(test, found)


def _is_instance(value: Known, kinds: ast.expr) -> Known:
    named = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    names = [
        one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else "" for one in named
    ]
    if isinstance(value, Described) and not value.classes:
        return OPEN
    if isinstance(value, Described):
        return not value.classes.isdisjoint(names) or (OPEN if set(names) - {*_KINDS, *_OF_TORCH} else False)
    if isinstance(value, tuple) and not isinstance(value, Shaped):
        kind = "list" if isinstance(value, Listed) else "tuple"
        return True if kind in names else OPEN if set(names) - {*_KINDS, *_OF_TORCH} else False
    if not all(name in _KINDS or name in _OF_TORCH for name in names):
        return OPEN
    if isinstance(value, Shaped):
        return "Tensor" in names
    return any(isinstance(value, _KINDS[name]) for name in names if name in _KINDS)


_KINDS: Mapping[str, type] = {"float": float, "int": int, "str": str, "bool": bool, "tuple": tuple, "list": list}

_OF_TORCH = frozenset({"Tensor", "Optimizer", "Module", "PackedSequence", "function", "OpOverload", "OpOverloadPacket"})
"""Classes of torch, and functions: no constant is one, and an object of one is none of the others."""

_OF_ITEMS = frozenset({"list", "tuple", "zip"})
"""Builtins that do not look at the items that they are given."""

_BUILTINS: Mapping[str, Callable[..., Known]] = {
    "set": lambda items: tuple(dict.fromkeys(items)),
    "sorted": lambda items: Listed(sorted(items)),
    "list": lambda items: Listed(items),
    "tuple": lambda items: tuple(items),
    "range": lambda *bounds: tuple(range(*bounds)) if len(range(*bounds)) < 100 else OPEN,
    "zip": lambda *several: tuple(zip(*several, strict=False)),
    **{one.__name__: one for one in (sum, max, min, int, float, bool, abs)},
    **{
        name: lambda value, count=count: value if isinstance(value, tuple) else (value,) * count
        for count, name in enumerate(("_single", "_pair", "_triple"), 1)
    },
}

_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Known]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Div: operator.truediv,
}
_COMPARED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
    ast.Is: lambda one, other: one is other,
    ast.IsNot: lambda one, other: one is not other,
}
_VALUES: Mapping[type[ast.expr], Callable[[Any, Mapping[str, Known]], Known]] = {
    ast.Constant: lambda test, known: test.value,
    ast.Name: _name,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Set: _items,
    ast.BoolOp: _logic,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Subscript: _item,
    ast.IfExp: _either,
    ast.Call: _call,
    ast.GeneratorExp: _comprehension,
    ast.ListComp: _comprehension,
    ast.Attribute: _attribute,
}
