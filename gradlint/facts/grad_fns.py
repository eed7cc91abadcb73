"""Torch's names of the nodes that an operation leaves on the tape: `AddmmBackward0`.

They are measured: `python -m tools.measure_grad_fns` writes `grad_fns.json`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, NamedTuple, TypedDict

from gradlint.facts.row import MustMay, Value, resolve
from gradlint.facts.table import decode_value


class GradFns(NamedTuple):
    """The names of a call's nodes: of the node of its result, and of those between it and the inputs."""

    result: MustMay
    inner: MustMay


class _Fitted(NamedTuple):
    result: Value
    inner: Value


class _Measured(TypedDict):
    """The file: rows shared by the names of which they are true, `e` for nodes of results, `i` for those below."""

    torch: str
    rows: list[dict[str, Any]]
    operations: dict[str, int]


@cache
def _measured() -> _Measured:
    found: _Measured = json.loads(resources.files(__package__).joinpath("grad_fns.json").read_text(encoding="utf-8"))
    return found


@cache
def _fitted(name: str) -> _Fitted | None:
    number = _measured()["operations"].get(name)
    if number is None:
        return None
    row = _measured()["rows"][number]
    return _Fitted(decode_value(row["e"]), decode_value(row.get("i", "")))


def grad_fns(name: str, flags: Mapping[str, object]) -> GradFns | None:
    """Return the names for a call of an operation with these flags; None for one that leaves no node behind.

    The flags are those of `gradlint.facts.resolve`, and `@grad.input` says whether that input requires grad.
    """
    found = _fitted(name)
    return None if found is None else GradFns(resolve(found.result, flags), resolve(found.inner, flags))
