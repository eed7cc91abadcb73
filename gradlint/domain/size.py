"""How large a value may grow that the interpreter holds: programs that no computer could run must cost it nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradlint.domain import value as values
from gradlint.domain.value import Mapping, Record, Sequence, Tensor, Unknown, Value

LARGEST = 4_096
"""The characters of a text, the bits of an integer, the items of a container, and the parts of a tuple, those of tuples
within it counted each time they occur. What is larger is known by its kind alone; a list by its first items."""

_RANK = 64
"""The dimensions up to which the sizes of tensors are known: most operations of torch take no more."""

_WORK = 1 << 20
"""The characters that one operation on texts may make: more cost time, though the result is not kept."""

_WIDTH = re.compile(r"\d{5,}|%[-+ #0-9.]*\*|\{[^{}]*\{")
"""What a template may say that makes a text much longer than what is put into it: a width of five digits, or one that
is put in itself."""


def bounded(value: Value) -> Value:
    """Return a value, or what stands for one that is too large."""
    check = _IS_LARGE.get(type(value))
    return value if check is None or not check(value) else Unknown(_KIND.get(type(value)))


def bounded_record(record: Record) -> Record:
    """Return what stands at an address; of a list or dict that is too large, its beginning."""
    if type(record) is Sequence and len(record.items) > LARGEST:
        return record._replace(items=record.items[:LARGEST], open=True)
    if type(record) is Mapping and len(record.items) > LARGEST:
        return record._replace(items=dict(list(record.items.items())[:LARGEST]), open=True)
    if type(record) is Tensor and record.shape is not None and len(record.shape) > _RANK:
        return record._replace(shape=None)
    return record


def is_work(text: str, arguments: object) -> bool:
    """Return whether a method or operator of a text, with these arguments, may make far more than they are long."""
    given = [part for part in _parts(arguments) if isinstance(part, str)]
    longest = max(map(len, given), default=1)
    return len(text) * longest > _WORK or any(_WIDTH.search(one) for one in (text, *given))


def _parts(value: object) -> Iterator[Any]:
    """Yield a value and what it holds, in tuples and the like, as often as it occurs."""
    stack = [value]
    while stack:
        one = stack.pop()
        yield one
        parts = _PARTS.get(type(one))
        if parts is not None:
            stack.extend(parts(one))


def _has_many_parts(value: object) -> bool:
    stack, left = [value], LARGEST + 1
    while stack and left >= 0:
        one = stack.pop()
        left -= 1
        parts = _PARTS.get(type(one))
        if parts is not None:
            stack.extend(parts(one))
    return left < 0


_PARTS: dict[type, Any] = {
    tuple: tuple,
    slice: lambda one: (one.start, one.stop, one.step),
    values.Partial: lambda one: (one.function, *one.args, *dict(one.keywords).values()),
    values.Bound: lambda one: (one.receiver, one.function),
    values.Super: lambda one: (one.owner, one.receiver),
    values.Context: lambda one: (one.argument, one.former),
    values.Function: lambda one: [default for _, default in one.defaults],
}
"""What a value is made of, by its class: comparing it, or taking its hash, goes through all of that."""

_IS_LARGE: dict[type, Any] = {
    str: lambda text: len(text) > LARGEST,
    bytes: lambda text: len(text) > LARGEST,
    int: lambda number: number.bit_length() > LARGEST,
    **dict.fromkeys(_PARTS, _has_many_parts),
}
_KIND: dict[type, str] = {str: "str", int: "int"}

CAN_BE_LARGE = frozenset({*_IS_LARGE, Sequence, Mapping, Tensor})
"""The classes of values and records that these limits are about."""
