"""The values that torch's own Python functions refuse: the tests after which they raise, and what they take.

`python -m tools.measure_guards` reads the tests out of torch's source, as expressions over the parameters, and keeps
those that it has seen raise. Here they are decided over what is known of a call's arguments.
"""

from __future__ import annotations

import ast
import json
import operator
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple, TypeAlias

from gradlint.domain.shape import Shape


class Open:
    """The type of `OPEN`: a value of which nothing is known."""

    def __repr__(self) -> str:
        return "OPEN"


OPEN: Final = Open()


class Shaped(NamedTuple):
    """What is known of a tensor: sizes that are no numbers are open."""

    shape: Shape


Known: TypeAlias = object
"""A constant, a tuple or list of what is known, a `Shaped`, or `OPEN`."""


class Guard(NamedTuple):
    """A test over the parameters after which a function raises an `error`; `message` is the expression of its text.

    `call` is one that torch was seen to refuse for it, in Python.
    """

    test: ast.expr
    error: str
    message: ast.expr
    call: str


class Guarded(NamedTuple):
    """A function or class of torch: its parameters in order, with the defaults that are constants, and its guards.

    `optional`: the parameters that have a default, constant or not; `keyword_only` those that have no position.
    """

    parameters: tuple[str, ...]
    defaults: Mapping[str, Known]
    optional: frozenset[str]
    keyword_only: frozenset[str]
    guards: tuple[Guard, ...]


@cache
def _data() -> Mapping[str, Any]:
    text = resources.files(__package__).joinpath("guards.json").read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


@cache
def guarded(path: str) -> Guarded | None:
    """Return what is known of a function or class of torch; None for one that is not written in Python.

    >>> [ast.unparse(one.test) for one in guarded("torch.nn.functional.dropout").guards]
    ['p < 0.0 or p > 1.0']
    """
    found = _data().get(path)
    if found is None:
        return None
    names, defaults = [], {}
    optional, keyword_only = set(), set()
    star = False
    for spelled in found["takes"]:
        name, given, default = spelled.partition("=")
        if name == "*":
            star = True
            continue
        names.append(name)
        if star:
            keyword_only.add(name)
        if given:
            optional.add(name)
            defaults[name] = ast.literal_eval(default) if default else OPEN
    guards = tuple(
        Guard(_parsed(test), error, _parsed(message), call) for test, error, message, call in found.get("refuses", ())
    )
    return Guarded(tuple(names), defaults, frozenset(optional), frozenset(keyword_only), guards)


@cache
def said() -> tuple[str, ...]:
    """Return of the text of each error the longest part that is the same in all calls.

    >>> {"Invalid learning rate: ", "Nesterov momentum requires a momentum and zero dampening"} <= set(said())
    True
    """
    texts = (_parsed(message) for found in _data().values() for _, _, message, _ in found.get("refuses", ()))
    return tuple(dict.fromkeys(one for text in texts if (one := _constant(text))))


def _constant(text: ast.expr) -> str:
    parts = text.values if isinstance(text, ast.JoinedStr) else [text]
    texts = [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]
    return max(texts, key=len, default="")


def _parsed(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


# Deciding a test.


def value_of(test: ast.expr, known: Mapping[str, Known]) -> Known:
    """Return the value of an expression over what is known; `OPEN` where that does not decide it.

    >>> value_of(_parsed("not 0 <= p <= 1 or q"), {"p": 2, "q": OPEN}), value_of(_parsed("p < q"), {"p": 1, "q": OPEN})
    (True, OPEN)
    """
    try:
        found = _VALUES.get(type(test), _open)(test, known)
    except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError, OverflowError):
        return OPEN  # Torch raises here, too, but says something else.
    return found


def text_of(message: ast.expr, known: Mapping[str, Known]) -> str:
    """Return the text of an error, with what is known of the call in it, or else the expression itself."""
    if not isinstance(message, ast.JoinedStr):
        found = value_of(message, known)
        return found if isinstance(found, str) else ""
    parts = []
    for part in message.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            found = value_of(part.value, known)
            parts.append(ast.unparse(part.value) if found is OPEN or isinstance(found, Shaped) else str(found))
    return "".join(parts)


def _open(test: ast.expr, known: Mapping[str, Known]) -> Known:
    return OPEN


def _name(test: ast.Name, known: Mapping[str, Known]) -> Known:
    return known.get(test.id, OPEN)


def _items(test: ast.Tuple | ast.List | ast.Set, known: Mapping[str, Known]) -> Known:
    return tuple([value_of(one, known) for one in test.elts])


def _logic(test: ast.BoolOp, known: Mapping[str, Known]) -> Known:
    """`and`, `or` as tests: one value may decide, whatever the others are."""
    decides = isinstance(test.op, ast.Or)
    answers = [_truth(value_of(one, known)) for one in test.values]
    if any(answer is decides for answer in answers):
        return decides
    return OPEN if any(answer is None for answer in answers) else not decides


def _truth(value: Known) -> bool | None:
    return None if value is OPEN or isinstance(value, Shaped) else bool(value)


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
    if not _is_whole(one) or not _is_whole(other):
        return OPEN
    return _COMPARED[type(how)](one, other) if type(how) in _COMPARED else OPEN


def _is_whole(value: Known) -> bool:
    """Return whether a value is known with all its parts, and is no tensor."""
    if isinstance(value, tuple):
        return not isinstance(value, Shaped) and all(map(_is_whole, value))
    return value is not OPEN


def _item(test: ast.Subscript, known: Mapping[str, Known]) -> Known:
    value, index = value_of(test.value, known), value_of(test.slice, known)
    if isinstance(value, tuple) and not isinstance(value, Shaped) and isinstance(index, int):
        return value[index]
    return OPEN


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
    if not isinstance(value, Shaped) or value.shape is None:
        return OPEN
    if test.attr == "ndim":
        return len(value.shape)
    return tuple([size if isinstance(size, int) else OPEN for size in value.shape]) if test.attr == "shape" else OPEN


def _function(name: str, given: list[ast.expr], known: Mapping[str, Known]) -> Known:
    values = [value_of(one, known) for one in given[:1]]
    if name == "len" and isinstance(values[0], tuple) and not isinstance(values[0], Shaped):
        return len(values[0])
    if name == "isinstance" and values[0] is not OPEN and len(given) == 2:
        return _is_instance(values[0], given[1])
    return OPEN


def _is_instance(value: Known, kinds: ast.expr) -> Known:
    named = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
    names = [
        one.id if isinstance(one, ast.Name) else one.attr if isinstance(one, ast.Attribute) else "" for one in named
    ]
    if not all(name in _KINDS or name == "Tensor" for name in names):
        return OPEN
    if isinstance(value, Shaped):
        return "Tensor" in names
    if isinstance(value, tuple):
        return OPEN  # A list is kept as a tuple.
    return any(isinstance(value, _KINDS[name]) for name in names if name in _KINDS)


_KINDS: Mapping[str, type] = {"float": float, "int": int, "str": str, "bool": bool, "tuple": tuple, "list": list}

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
    ast.Attribute: _attribute,
}
