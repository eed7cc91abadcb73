"""The numbers of dimensions that torch's operations take, as `python -m tools.measure_ranks` has measured them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

MOST = 4
"""What was measured; who takes so many takes more."""


class Ranks(NamedTuple):
    """The numbers of dimensions that an operation takes of a tensor that it is given alone; `square`: in matrices."""

    taken: tuple[int, ...]
    square: bool


@cache
def _measured() -> dict[str, str]:
    found: dict[str, str] = json.loads(resources.files(__package__).joinpath("ranks.json").read_text(encoding="utf-8"))
    return found


@cache
def ranks_of(operation: str) -> Ranks | None:
    """Return what an operation asks of the dimensions of its only argument; None for one that takes all.

    >>> ranks_of("trace"), ranks_of("det"), ranks_of("exp")
    (Ranks(taken=(2,), square=False), Ranks(taken=(2, 3, 4), square=True), None)
    """
    found = _measured().get(operation)
    if found is None:
        return None
    words = found.split()
    return Ranks(tuple([int(word) for word in words if word != "square"]), "square" in words)
