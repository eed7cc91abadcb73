"""The element types that torch's operations refuse, as `python -m tools.measure_element_types` has measured them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TypedDict


class _Measured(TypedDict):
    """The measured file."""

    refuses: dict[str, dict[str, str]]
    casts: list[str]


@cache
def _measured() -> _Measured:
    found: _Measured = json.loads(
        resources.files(__package__).joinpath("element_types.json").read_text(encoding="utf-8")
    )
    return found


@cache
def refused_types(operation: str) -> Mapping[str, frozenset[str]]:
    """Return, by argument, the types that an operation takes in no call; the first argument is always `input`.

    >>> sorted(refused_types("mean")["input"]), sorted(refused_types("mul"))
    (['bool', 'int32', 'int64', 'uint8'], [])
    """
    return {name: frozenset(types.split()) for name, types in _measured()["refuses"].get(operation, {}).items()}


@cache
def _casting() -> frozenset[str]:
    return frozenset(_measured()["casts"])


def casts(operation: str) -> bool:
    """Return whether an operation in place refuses a result that is of a higher kind than its target.

    >>> casts("add"), casts("copy")
    (True, False)
    """
    return operation in _casting()
